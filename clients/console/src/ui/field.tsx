// A field of a form: what it is by the kind and the limits of its value, and how it looks.
import type { ComponentType } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { Limited, Limits } from "../api/limits";
import type { InputField, InputFields } from "../api/operation";
import { TextFromFile } from "./text-from-file";
import { durationOf, inOrder, wordsOf } from "./text";

/** Values with their labels, and where it helps to choose, a sentence about each. */
export type Options = ReadonlyArray<readonly [value: string, label: string, sentence?: string]>;

/** What is filled in so far: the first value of each field, by its name. */
export type Filled = Readonly<Record<string, string>>;

/** A field with controls of its own, whose values are those of its elements with its name. */
export interface ControlProps {
  id: string;
  name: string;
  /** The initial value: a line for each of several. */
  value: string;
  isRequired: boolean;
  isInvalid: boolean;
  /** The ID of its hint or fault. */
  describedBy?: string;
}

/**
 * A field of a form, by the name of the field of the input. Its kind and its limits are known from the schema; its label and
 * its hint are texts of the form, which say what helps to fill it in.
 */
export interface FieldSpec {
  name: string;
  label?: string;
  hint?: string;
  kind?:
    | "text"
    | "email"
    | "password"
    | "number"
    | "url"
    | "date"
    | "duration"
    | "area"
    | "json"
    | "check"
    | "choices"
    | "cards";
  options?: Options;
  isRequired?: boolean;
  autoComplete?: string;
  /** Reads the text of the field, if it is not as the API has it. */
  read?: (text: string) => unknown;
  /** Finds values for what is typed so far, each with a label. */
  suggest?: (text: string) => Promise<Options>;
  /** Whether it is a part of the form, by what is filled in. Values of others are not sent. */
  isShown?: (filled: Filled) => boolean;
  /** Whether its control is a group of several, which has a legend. */
  isGroup?: true;
  control?: ComponentType<ControlProps>;
  /** The kinds of files whose text can be the value, as the attribute `accept` has them. */
  files?: string;
  /** An example of a value, in the empty field. */
  placeholder?: string;
}

export interface Resolved extends FieldSpec, Limited {
  label: string;
  kind: NonNullable<FieldSpec["kind"]>;
  type: string;
  isList: boolean;
  isRequired: boolean;
}

/** The kinds of fields by the kinds of values, and by their types. */
const kinds: Record<string, Resolved["kind"]> = {
  secret: "password",
  duration: "duration",
  "multi-line": "area",
  Int: "number",
  BigInt: "number",
  Boolean: "check",
  DateTime: "date",
  EmailAddress: "email",
  URL: "url",
  JSONObject: "json",
};

export function resolve(spec: FieldSpec | string, input: InputFields): Resolved {
  const given: FieldSpec = typeof spec === "string" ? { name: spec } : spec;
  const known: Partial<InputField> = input[given.name] ?? {};
  const { type = "String", isList = false, isRequired = false, options, kind = "", limits, words } = known;
  const choices = given.options ?? (options && inOrder(options).map((value) => [value, wordsOf(value)] as const));
  const list = isList ? (choices ? "choices" : "area") : undefined;
  const isDuration = kind === "duration";
  return {
    label: wordsOf(isDuration ? given.name.replace(/Seconds$/, "") : given.name),
    isRequired: isRequired && type !== "Boolean",
    hint: isDuration ? durationHint : undefined,
    kind:
      list ?? (given.options?.some(([, , sentence]) => sentence) ? "cards" : (kinds[kind] ?? kinds[type] ?? "text")),
    // Options are not limited further, and what is read from another form is checked by the server.
    ...(!choices && !given.read && { limits, words: isDuration ? longestOf(limits) : words }),
    ...given,
    options: choices,
    type,
    isList,
  };
}

const longestOf = ({ maximum }: Limits = {}) => (maximum === undefined ? undefined : `at most ${durationOf(maximum)}`);

const durationHint = "Such as 8 hours or 30 minutes, or never.";

/** A time as fields for dates have it: in the time zone of the browser. */
export function localTime(time: string): string {
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const inputTypes: Partial<Record<Resolved["kind"], string>> = { date: "datetime-local", duration: "text" };

interface CardsProps {
  name: string;
  options: Options;
  value: string;
  onChange?: (value: string) => void;
}

/** A choice of one of a few, each with a sentence. */
export const Cards = ({ name, options, value, onChange }: CardsProps) => (
  <>
    {options.map(([each, text, sentence]) => (
      <label key={each}>
        <input
          type="radio"
          name={name}
          value={each}
          defaultChecked={each === value}
          onChange={() => onChange?.(each)}
        />
        <span>
          <b>{text}</b>
          {sentence && <span class="faint block">{sentence}</span>}
        </span>
      </label>
    ))}
  </>
);

interface FieldProps {
  field: Resolved;
  /** Whether it is of a new object. What a change leaves out stays as it is, so that nothing is optional. */
  isNew: boolean;
  value: string;
  fault?: string;
}

export function Field({ field, isNew, value, fault }: FieldProps) {
  const id = useId();
  const [found, setFound] = useState<Options>([]);
  const { name, label, hint, kind, options, isRequired, autoComplete = "off", suggest, placeholder } = field;
  const { control: Control, isGroup, files } = field;
  const typed = useRef("");
  const find = async (text: string) => {
    typed.current = text;
    // It can be typed without suggestions.
    const suggested = await suggest?.(text).catch(() => []);
    if (suggested && typed.current === text) setFound(suggested);
  };
  const note = fault ?? hint;
  const shared = {
    id,
    name,
    required: isRequired,
    "aria-invalid": fault ? true : undefined,
    "aria-describedby": note ? `${id}-note` : undefined,
  };
  const explained = note && (
    <p id={`${id}-note`} class={fault ? "fault" : "hint"}>
      {note}
    </p>
  );
  if (Control) {
    const control = (
      <Control
        id={id}
        name={name}
        value={value}
        isRequired={isRequired}
        isInvalid={fault !== undefined}
        describedBy={shared["aria-describedby"]}
      />
    );
    return isGroup ? (
      <fieldset class="field choices" aria-describedby={shared["aria-describedby"]}>
        <legend>{label}</legend>
        {control}
        {explained}
      </fieldset>
    ) : (
      <div class="field">
        <label for={id}>
          {label}
          {isNew && !isRequired && <span class="faint"> (optional)</span>}
        </label>
        {control}
        {explained}
      </div>
    );
  }
  if (kind === "cards")
    return (
      <fieldset class="field cards" aria-describedby={shared["aria-describedby"]}>
        <legend>{label}</legend>
        <Cards name={name} options={options ?? []} value={value} />
        {explained}
      </fieldset>
    );
  if (kind === "choices") {
    const chosen = new Set(value.split("\n"));
    return (
      <fieldset class="field choices" aria-describedby={shared["aria-describedby"]}>
        <legend>{label}</legend>
        {options?.map(([each, text, sentence]) => (
          <label key={each}>
            <input type="checkbox" name={name} value={each} defaultChecked={chosen.has(each)} />
            <span>
              {text}
              {sentence && <span class="faint block">{sentence}</span>}
            </span>
          </label>
        ))}
        {explained}
      </fieldset>
    );
  }
  return (
    <div class={`field ${kind}`}>
      <label for={id}>
        {label}
        {isNew && !isRequired && kind !== "check" && <span class="faint"> (optional)</span>}
      </label>
      {options ? (
        <select {...shared}>
          {!isRequired && value === "" && <option value="">–</option>}
          {options.map(([each, text]) => (
            <option key={each} value={each} selected={each === value}>
              {text}
            </option>
          ))}
        </select>
      ) : files !== undefined ? (
        <TextFromFile {...shared} label={label} accept={files} rows={kind === "json" ? 10 : 4} value={value} />
      ) : kind === "area" || kind === "json" ? (
        <textarea
          {...shared}
          rows={kind === "json" ? 10 : 3}
          defaultValue={value}
          placeholder={placeholder}
          dir="auto"
          spellcheck={false}
        />
      ) : kind === "check" ? (
        <input {...shared} type="checkbox" value="yes" defaultChecked={value === "yes"} />
      ) : (
        <input
          {...shared}
          type={(inputTypes[kind] ?? kind) as "text"}
          defaultValue={value}
          autoComplete={autoComplete}
          placeholder={placeholder}
          dir={kind === "text" ? "auto" : undefined}
          list={suggest && `${id}-found`}
          onFocus={({ currentTarget }) => void find(currentTarget.value)}
          onInput={({ currentTarget }) => void find(currentTarget.value)}
        />
      )}
      {suggest && (
        <datalist id={`${id}-found`}>
          {found.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </datalist>
      )}
      {explained}
    </div>
  );
}
