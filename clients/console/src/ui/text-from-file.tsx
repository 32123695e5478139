// A field for a long text, which can be that of a file: typed, chosen, or dropped.
import type { ComponentProps } from "preact";
import { useRef, useState } from "preact/hooks";
import { ChooseFile, Droppable } from "./choose-file";
import { bytesOf } from "./text";

interface TextFromFileProps extends Pick<
  ComponentProps<"textarea">,
  "id" | "name" | "required" | "rows" | "aria-invalid" | "aria-describedby"
> {
  label: string;
  accept: string;
  value: string;
}

/** The most bytes of a file: more than any text that the server takes. */
const largest = 8e6;

export function TextFromFile({ label, accept, value, ...shared }: TextFromFileProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [note, setNote] = useState("");

  async function take(file: File) {
    if (file.size > largest) return setNote(`${file.name} is larger than ${bytesOf(largest)}.`);
    const text = await file.text();
    if (text.includes("\0")) return setNote(`${file.name} is no text.`);
    area.current!.value = text;
    // As if it had been typed, for the form and for what looks at it.
    area.current!.dispatchEvent(new Event("input", { bubbles: true }));
    setNote(`${file.name}, ${bytesOf(file.size)}`);
  }

  return (
    <Droppable onFile={take}>
      <textarea ref={area} {...shared} defaultValue={value} dir="auto" spellcheck={false} />
      <ChooseFile label={`Choose a file for ${label}`} accept={accept} note={note} onFile={take} />
    </Droppable>
  );
}
