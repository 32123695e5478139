// Forms, made from the input of a mutation: what it says about its fields gives them their kinds, hints, and checks.
import { useId, useRef, useState } from "preact/hooks";
import { type Faults, faultsOf, InvalidInput } from "../api/errors";
import { faultOf, type Limited, type Limits } from "../api/limits";
import type { InputField, InputFields } from "../api/operation";
import { Dialog } from "./dialog";
import { durationOf, inOrder, secondsOf, wordsOf } from "./text";

export type Options = ReadonlyArray<readonly [value: string, label: string]>;

/** A field of a form, by the name of the field of the input. All but the name is known from the schema if absent. */
export interface FieldSpec {
  name: string;
  label?: string;
  hint?: string;
  kind?: "text" | "email" | "password" | "number" | "url" | "date" | "duration" | "area" | "json" | "check" | "choices";
  options?: Options;
  isRequired?: boolean;
  autoComplete?: string;
  /** Reads the text of the field, if it is not as the API has it. */
  read?: (text: string) => unknown;
  /** Finds values for what is typed so far, each with a label. */
  suggest?: (text: string) => Promise<Options>;
}

interface Resolved extends FieldSpec, Limited {
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

function resolve(spec: FieldSpec | string, input: InputFields): Resolved {
  const given: FieldSpec = typeof spec === "string" ? { name: spec } : spec;
  const known: Partial<InputField> = input[given.name] ?? {};
  const { type = "String", isList = false, isRequired = false, options, hint, kind = "", limits, words } = known;
  const choices = given.options ?? (options && inOrder(options).map((value) => [value, wordsOf(value)] as const));
  const list = isList ? (choices ? "choices" : "area") : undefined;
  const isDuration = kind === "duration";
  return {
    label: wordsOf(isDuration ? given.name.replace(/Seconds$/, "") : given.name),
    isRequired: isRequired && type !== "Boolean",
    // What the API says about IDs and seconds is of no use to those who choose names and write hours.
    hint: isDuration ? durationHint : given.options ? undefined : hint && forPeople(hint),
    kind: list ?? kinds[kind] ?? kinds[type] ?? "text",
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

/** Descriptions name values in backquotes, and say that absent texts are empty. */
const forPeople = (hint: string) => hint.replaceAll("`", "").replace(/ Default: empty\.$/, "");

/** The value of a field as text, in which forms have them. */
export function textOf(value: unknown): string {
  if (value == null) return "";
  if (Array.isArray(value)) return value.join("\n");
  if (typeof value === "object") return JSON.stringify(value, undefined, 2);
  if (typeof value === "boolean") return value ? "yes" : "";
  return String(value);
}

const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** The text of a field as the API has it: nothing of an empty one, but of texts when they are changed. */
function valueOf(field: Resolved, data: FormData, isChange: boolean): unknown {
  const { name, kind, isList, read } = field;
  if (kind === "check") return data.get(name) === "yes";
  if (kind === "choices") return data.getAll(name).map(String);
  const text = String(data.get(name) ?? "");
  if (read) return read(text);
  if (isList)
    return text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  if (text === "") {
    const isText = !["number", "date", "duration", "json"].includes(kind);
    return (isChange && ["String", "URL"].includes(field.type)) || (field.isRequired && isText) ? "" : undefined;
  }
  if (kind === "number") return Number(text);
  if (kind === "duration") return secondsIn(name, text);
  if (kind === "date") return new Date(text).toISOString();
  if (kind === "json") return parseJson(name, text);
  return text;
}

function secondsIn(name: string, text: string): number {
  const seconds = secondsOf(text);
  if (seconds === undefined) throw invalid(name, "Needs a whole number with a unit, such as 8 hours.");
  return seconds;
}

export function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(name, `Is not JSON: ${(error as Error).message}.`);
  }
}

const invalid = (field: string, detail: string) => new InvalidInput([{ field, detail }]);

/** Reads the values of fields, and checks their limits. Throws all faults together. */
async function valuesOf(
  fields: readonly Resolved[],
  data: FormData,
  isChange: boolean,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  const faults: InvalidInput[] = [];
  for (const field of fields) {
    try {
      const value = await valueOf(field, data, isChange);
      const isMissing = field.isRequired && (value === undefined || value === "");
      const fault = isMissing ? "Is required." : faultOf(value, field);
      if (fault !== undefined) throw invalid(field.name, fault);
      if (value !== undefined) values[field.name] = value;
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      faults.push(error);
    }
  }
  if (faults.length > 0) throw new InvalidInput(faults.flatMap(({ validations }) => validations));
  return values;
}

interface FormProps {
  fields: ReadonlyArray<FieldSpec | string>;
  /** The fields as the schema describes them. */
  input?: InputFields;
  /** The field of the input that they are within, in the paths of faults. */
  part?: string;
  /** The values before; only what is changed is sent then. */
  values?: Readonly<Record<string, unknown>>;
  /** The initial values of new fields. */
  defaults?: Readonly<Record<string, unknown>>;
  submit: string;
  isDanger?: boolean;
  onSubmit: (values: Record<string, unknown>) => Promise<unknown>;
  onCancel?: () => void;
}

const noInput: InputFields = {};

/** A form whose faults appear next to their fields, all together. The first one gets the focus. */
export function Form({
  fields: specs,
  input = noInput,
  part,
  values,
  defaults,
  submit,
  isDanger,
  onSubmit,
  onCancel,
}: FormProps) {
  const fields = specs.map((spec) => resolve(spec, input));
  const [faults, setFaults] = useState<Faults>({ fields: {} });
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const initial = (name: string) => {
    const value = (values ?? defaults)?.[name];
    const isDuration = fields.some((field) => field.name === name && field.kind === "duration");
    const text = isDuration && typeof value === "number" ? durationOf(value) : textOf(value);
    return isTime.test(text) ? localTime(text) : text;
  };

  async function send(event: Event) {
    event.preventDefault();
    const data = new FormData(form.current!);
    setBusy(true);
    try {
      const changed = fields.filter(({ name, kind }) => {
        if (!values || kind === "check") return true;
        return (kind === "choices" ? data.getAll(name).join("\n") : String(data.get(name) ?? "")) !== initial(name);
      });
      await onSubmit(await valuesOf(changed, data, values !== undefined));
      setFaults({ fields: {} });
      if (!values) form.current?.reset();
    } catch (error) {
      const names = fields.map(({ name }) => name);
      const found = faultsOf(error, names, part);
      setFaults(found);
      const first = names.find((name) => found.fields[name]);
      form.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus();
    } finally {
      setBusy(false);
    }
  }

  return (
    <form ref={form} onSubmit={(event) => void send(event)} noValidate>
      {faults.whole && (
        <p class="alarm" role="alert">
          {faults.whole}
        </p>
      )}
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          isNew={!values}
          value={initial(field.name)}
          fault={faults.fields[field.name]}
        />
      ))}
      <footer>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={isDanger ? "primary danger" : "primary"} disabled={isBusy}>
          {submit}
        </button>
      </footer>
    </form>
  );
}

/** A time as fields for dates have it: in the time zone of the browser. */
function localTime(time: string): string {
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const inputTypes: Partial<Record<Resolved["kind"], string>> = { date: "datetime-local", duration: "text" };

interface FieldProps {
  field: Resolved;
  /** Whether it is of a new object. What a change leaves out stays as it is, so that nothing is optional. */
  isNew: boolean;
  value: string;
  fault?: string;
}

function Field({ field, isNew, value, fault }: FieldProps) {
  const id = useId();
  const [found, setFound] = useState<Options>([]);
  const { name, label, hint, kind, options, isRequired, autoComplete = "off", suggest } = field;
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
  if (kind === "choices") {
    const chosen = new Set(value.split("\n"));
    return (
      <fieldset class="field choices" aria-describedby={shared["aria-describedby"]}>
        <legend>{label}</legend>
        {options?.map(([each, text]) => (
          <label key={each}>
            <input type="checkbox" name={name} value={each} defaultChecked={chosen.has(each)} /> {text}
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
      ) : kind === "area" || kind === "json" ? (
        <textarea {...shared} rows={kind === "json" ? 10 : 3} defaultValue={value} spellcheck={false} />
      ) : kind === "check" ? (
        <input {...shared} type="checkbox" value="yes" defaultChecked={value === "yes"} />
      ) : (
        <input
          {...shared}
          type={(inputTypes[kind] ?? kind) as "text"}
          defaultValue={value}
          autoComplete={autoComplete}
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

interface FormDialogProps extends Omit<FormProps, "onCancel"> {
  title: string;
  /** A text before the fields, such as what a deletion takes along. */
  note?: string;
  onClose: () => void;
}

/** The form in a dialog, which closes when it has succeeded. */
export const FormDialog = ({ title, note, onClose, onSubmit, ...form }: FormDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    {note && <p class="note">{note}</p>}
    <Form
      {...form}
      onSubmit={async (values) => {
        await onSubmit(values);
        onClose();
      }}
      onCancel={onClose}
    />
  </Dialog>
);
