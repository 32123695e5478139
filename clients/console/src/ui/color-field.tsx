// A color, chosen from the palette of the system or typed.
import { useState } from "preact/hooks";
import type { ControlProps } from "./field";

export function ColorField({ id, name, value, isRequired, isInvalid, describedBy }: ControlProps) {
  const [color, setColor] = useState(value);
  return (
    <span class="color-field">
      <input
        id={id}
        name={name}
        type="text"
        value={color}
        required={isRequired}
        aria-invalid={isInvalid ? true : undefined}
        aria-describedby={describedBy}
        autoComplete="off"
        onInput={({ currentTarget }) => setColor(currentTarget.value)}
      />
      <input
        type="color"
        aria-label="Choose a color"
        value={/^#[0-9a-f]{6}$/i.test(color) ? color : "#000000"}
        onInput={({ currentTarget }) => setColor(currentTarget.value)}
      />
    </span>
  );
}
