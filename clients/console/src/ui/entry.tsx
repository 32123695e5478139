// A field with its label, for forms that keep their values themselves.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** All that a field shares with its label and its note. */
export interface SharedOfField {
  id: string;
  "aria-invalid"?: true;
  "aria-describedby"?: string;
}

interface EntryProps {
  label: string;
  hint?: ComponentChildren;
  fault?: string;
  class?: string;
  children: (shared: SharedOfField) => ComponentChildren;
}

/** A label, a field, and below it its fault or its hint. */
export function Entry({ label, hint, fault, class: look = "", children }: EntryProps) {
  const id = useId();
  const note = fault ?? hint;
  return (
    <div class={`field ${look}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(fault && { "aria-invalid": true }),
        ...(note && { "aria-describedby": `${id}-note` }),
      })}
      {note && (
        <p id={`${id}-note`} class={fault ? "fault" : "hint"}>
          {note}
        </p>
      )}
    </div>
  );
}
