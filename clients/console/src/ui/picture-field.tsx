// A picture: its address, which is typed, or a file, which is chosen or dropped.
import { useRef, useState } from "preact/hooks";
import { ChooseFile, Droppable } from "./choose-file";
import type { ControlProps } from "./field";
import { bytesOf } from "./text";

/** The most bytes of a file that is read. Of those that are smaller, the limits of the value decide. */
const largest = 8e6;

const accept = "image/png,image/jpeg,image/webp";

const dataUrlOf = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result as string));
    reader.addEventListener("error", () => reject(reader.error as Error));
    reader.readAsDataURL(file);
  });

export function PictureField({ id, name, value, isRequired, isInvalid, describedBy }: ControlProps) {
  const address = useRef<HTMLInputElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [shown, setShown] = useState(value);
  const [note, setNote] = useState("");
  const isFile = shown.startsWith("data:");

  function set(text: string, said: string) {
    address.current!.value = text;
    // As if it had been typed, for the form.
    address.current!.dispatchEvent(new Event("input", { bubbles: true }));
    setShown(text);
    setNote(said);
  }

  async function take(file: File) {
    if (!accept.split(",").includes(file.type)) return setNote(`${file.name} is no PNG, JPEG, or WebP file.`);
    if (file.size > largest) return setNote(`${file.name} is larger than ${bytesOf(largest)}.`);
    set(await dataUrlOf(file), `${file.name}, ${bytesOf(file.size)}`);
  }

  return (
    <Droppable onFile={take}>
      {shown && (
        <p class="picture">
          <img src={shown} alt="" />
          <button
            type="button"
            onClick={() => {
              set("", "It is removed when you save.");
              address.current!.focus();
            }}
          >
            Remove the picture
          </button>
        </p>
      )}
      <input
        ref={address}
        id={id}
        name={name}
        type="text"
        class={isFile ? "hidden" : undefined}
        readOnly={isFile}
        // The content of a file is nothing to read: who is led to it gets to the choice of another.
        tabIndex={isFile ? -1 : undefined}
        onInput={({ currentTarget }) => setShown(currentTarget.value === value ? value : "")}
        onFocus={() => isFile && chooser.current!.focus()}
        defaultValue={value}
        required={isRequired}
        aria-hidden={isFile ? true : undefined}
        aria-invalid={isInvalid ? true : undefined}
        aria-describedby={describedBy}
        placeholder="https://"
        autoComplete="off"
      />
      <ChooseFile
        input={chooser}
        label="Choose a file for the picture"
        accept={accept}
        describedBy={describedBy}
        note={note}
        onFile={take}
      />
    </Droppable>
  );
}
