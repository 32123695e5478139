// Forms, made from the input of a mutation: what it says about its fields gives them their kinds and checks.
import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Faults, faultsOf, InvalidInput } from "../api/errors";
import { faultOf } from "../api/limits";
import { type Loaded, useLatest } from "../api/hooks";
import type { InputFields } from "../api/operation";
import { useUnsaved } from "../api/session";
import { Dialog } from "./dialog";
import { Failure } from "./failure";
import { Field, type FieldSpec, type Filled, localTime, resolve, type Resolved } from "./field";
import { durationOf, secondsOf } from "./text";

export type { FieldSpec, Options } from "./field";

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
      const isMissing = field.isRequired && (value === undefined || value === "" || isEmptyGroup(field, value));
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

/** Groups of choices say that there is nothing to choose, too. */
const isEmptyGroup = ({ isGroup }: Resolved, value: unknown) => isGroup && Array.isArray(value) && value.length === 0;

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

const firstValues = (data: FormData): Filled =>
  Object.fromEntries([...data.entries()].toReversed().map(([name, value]) => [name, String(value)]));

/** Adds to the numbers of parts of a form that still load, and of those that have failed to. */
const LoadingParts = createContext({ add: (_more: number) => {}, fail: (_more: number) => {} });

/** Stands for a part of a dialog until it is loaded, or says why it is not. A form is not sent before. */
export function LoadingPart({ of: { error, refresh }, text }: { of: Loaded<unknown>; text: string }) {
  const form = useContext(LoadingParts);
  useLayoutEffect(() => {
    form.add(1);
    return () => form.add(-1);
  }, [form]);
  useLayoutEffect(() => {
    if (!error) return undefined;
    form.fail(1);
    return () => form.fail(-1);
  }, [form, error]);
  return error ? <Failure error={error} retry={refresh} /> : <p class="faint">{text}</p>;
}

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
  const all = specs.map((spec) => resolve(spec, input));
  const [filled, setFilled] = useState<Filled>();
  const [faults, setFaults] = useState<Faults>({ fields: {} });
  const [isBusy, setBusy] = useState(false);
  const [loading, setLoading] = useState(0);
  const [failed, setFailed] = useState(0);
  const loadingParts = useMemo(
    () => ({
      add: (more: number) => setLoading((before) => before + more),
      fail: (more: number) => setFailed((before) => before + more),
    }),
    [],
  );
  /** Submitted while a part loads: it is sent then, unless the part fails. */
  const [isDue, setDue] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const initial = (name: string) => {
    const value = (values ?? defaults)?.[name];
    const isDuration = all.some((field) => field.name === name && field.kind === "duration");
    const text = isDuration && typeof value === "number" ? durationOf(value) : textOf(value);
    return isTime.test(text) ? localTime(text) : text;
  };

  const current = filled ?? Object.fromEntries(all.map(({ name }) => [name, initial(name)]));
  const fields = all.filter(({ isShown }) => !isShown || isShown(current));
  useUnsaved(filled !== undefined);

  async function send() {
    const data = new FormData(form.current!);
    setBusy(true);
    try {
      const changed = fields.filter(({ name, kind }) => {
        if (!values || kind === "check") return true;
        return (kind === "choices" ? data.getAll(name).join("\n") : String(data.get(name) ?? "")) !== initial(name);
      });
      await onSubmit(await valuesOf(changed, data, values !== undefined));
      setFaults({ fields: {} });
      setFilled(undefined);
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

  const sendNow = useLatest(send);
  useEffect(() => {
    if (!isDue || (loading > 0 && failed === 0)) return;
    setDue(false);
    if (failed === 0) void sendNow();
  }, [isDue, loading, failed, sendNow]);

  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        if (loading === 0) void send();
        else setDue(true);
      }}
      onInput={() => setFilled(firstValues(new FormData(form.current!)))}
      noValidate
    >
      {faults.whole && (
        <p class="alarm" role="alert">
          {faults.whole}
        </p>
      )}
      <LoadingParts.Provider value={loadingParts}>
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            isNew={!values}
            value={initial(field.name)}
            fault={faults.fields[field.name]}
          />
        ))}
      </LoadingParts.Provider>
      <footer>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={isDanger ? "primary danger" : "primary"} disabled={isBusy || isDue}>
          {submit}
        </button>
      </footer>
    </form>
  );
}

interface FormDialogProps extends Omit<FormProps, "onCancel"> {
  title: string;
  /** A text before the fields, such as what a deletion takes along. */
  note?: string;
  /** What else can be done than to fill in the form. */
  children?: ComponentChildren;
  onClose: () => void;
}

/** The form in a dialog, which closes when it has succeeded. */
export const FormDialog = ({ title, note, children, onClose, onSubmit, ...form }: FormDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    {note && <p class="note">{note}</p>}
    {children}
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
