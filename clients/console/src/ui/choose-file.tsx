// Files that are chosen or dropped.
import type { ComponentChildren, Ref } from "preact";
import { useState } from "preact/hooks";

type OnFile = (file: File) => unknown;

/** A place where a file can be dropped. */
export function Droppable({ onFile, children }: { onFile: OnFile; children: ComponentChildren }) {
  const [isOver, setOver] = useState(false);
  return (
    <div
      class={isOver ? "from-file over" : "from-file"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file) onFile(file);
      }}
    >
      {children}
    </div>
  );
}

interface ChooseFileProps {
  label: string;
  accept: string;
  /** The name of the file that was taken, or why it was not. */
  note: string;
  onFile: OnFile;
  input?: Ref<HTMLInputElement>;
  describedBy?: string;
}

/** The button that chooses a file. */
export const ChooseFile = ({ label, accept, note, onFile, input, describedBy }: ChooseFileProps) => (
  <p class="choose">
    <label class="button">
      Choose a file
      <input
        ref={input}
        type="file"
        class="hidden"
        accept={accept}
        aria-label={label}
        aria-describedby={describedBy}
        onInput={(event) => event.stopPropagation()}
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          if (file) onFile(file);
        }}
      />
    </label>
    <span class="faint" aria-live="polite">
      {note || "or drop it here."}
    </span>
  </p>
);
