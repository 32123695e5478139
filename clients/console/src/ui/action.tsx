// Buttons that change something: immediately, after a form, or after a confirmation.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLatest } from "../api/hooks";
import { perform } from "../api/client";
import type { Operation } from "../api/operation";
import { Revealed } from "./dialog";
import { type FieldSpec, FormDialog } from "./form";
import { attempt, say } from "./notices";

type RevealedSecret = readonly [title: string, secret: string, content?: ComponentChildren];

interface ActionProps<Data, Input extends object> {
  label: string;
  /** The object of the action, if the page has several such buttons. */
  on?: string;
  run: Operation<Data, { input: Input }> | Operation<Data, { [key: string]: never }>;
  /** The part of the input that is known. */
  given: Partial<Input>;
  /** The fields that the user fills in. */
  fields?: ReadonlyArray<FieldSpec | Extract<keyof Input, string>>;
  /** The field of the input whose fields they are, if it is an object or a list of objects. */
  part?: Extract<keyof Input, string>;
  /** The values before a change. */
  values?: Readonly<Record<string, unknown>>;
  /** The initial values of the fields of a new object. */
  defaults?: Readonly<Record<string, unknown>>;
  title?: string;
  submit?: string;
  note?: string;
  /** The question before it acts, which names what is lost. */
  confirm?: string;
  look?: "primary" | "danger" | "plain";
  /** Makes the input of what the user filled in, if they differ. */
  prepare?: (values: Record<string, unknown>) => Partial<Input>;
  /** Called after success. */
  done?: (data: Data) => unknown;
  /** The message after success. */
  said?: string;
  undo?: (data: Data) => Promise<unknown>;
  /** A secret in the result, which is shown once, and what is shown with it. */
  reveal?: (data: Data) => RevealedSecret | undefined;
  /** Says where that is shown later as well, if it is no secret. */
  remains?: string;
}

/** A button for a mutation. */
export function Action<Data, Input extends object>(props: ActionProps<Data, Input>) {
  const { label, on, run, given, fields, part, values, defaults, title, submit, note, confirm } = props;
  const { look, prepare, said, undo } = props;
  const [isOpen, setOpen] = useState(false);
  const [revealed, setRevealed] = useState<RevealedSecret>();
  const act = useLatest(async (filled: Record<string, unknown>) => {
    const input = { ...given, ...(prepare ? prepare(filled) : filled) } as Input;
    const hasInput = Object.keys(run.input).length > 0;
    const data = await perform(run as Operation<Data, object>, hasInput ? { input } : {});
    if (said || undo) say(said ?? "Done.", undo && (() => undo(data)));
    setRevealed(props.reveal?.(data));
    props.done?.(data);
  });
  const isDanger = look === "danger";
  const asks = fields !== undefined || confirm !== undefined;
  return (
    <>
      <button
        type="button"
        class={look ?? ""}
        aria-label={on && `${label} ${on}`}
        aria-haspopup={asks ? "dialog" : undefined}
        onClick={() => (asks ? setOpen(true) : void attempt(() => act({})))}
      >
        {label}
      </button>
      {isOpen && (
        <FormDialog
          title={title ?? [label, on].filter(Boolean).join(" ")}
          note={confirm ?? note}
          fields={fields ?? []}
          input={part === undefined ? run.input : run.input[part]?.fields}
          part={part}
          values={values}
          defaults={defaults}
          submit={submit ?? label}
          isDanger={isDanger}
          onSubmit={act}
          onClose={() => setOpen(false)}
        />
      )}
      {revealed && (
        <Revealed
          title={revealed[0]}
          secret={revealed[1]}
          remains={props.remains}
          onClose={() => setRevealed(undefined)}
        >
          {revealed[2]}
        </Revealed>
      )}
    </>
  );
}
