import { type FormEvent, useId, useRef, useState } from "react";
import { describe } from "../api/errors";
import { Dialog } from "./parts";

export interface FieldSpec {
  /** Name of the field of the input, which the API's validations name as well. */
  name: string;
  label: string;
  value?: string;
  hint?: string;
  type?: "text" | "email" | "password" | "number" | "url" | "area" | "check";
  autoComplete?: string;
  options?: ReadonlyArray<readonly [value: string, label: string]>;
  isRequired?: boolean;
}

export type Values = Record<string, string>;

interface Faults {
  /** What is wrong with each field. */
  fields: Record<string, string>;
  /** What is wrong with the form as a whole. */
  whole?: string;
}

/** Assigns each validation to its field: the first part of the path after `input`. Others concern the whole form. */
function faultsOf(error: unknown, names: readonly string[]): Faults {
  const { message, detail, validations, retryAfter } = describe(error);
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { field, detail: rule } of validations) {
    const [name = ""] = field.replace(/^input\./, "").split(/[.[]/);
    if (names.includes(name)) fields[name] = [fields[name], rule].filter(Boolean).join(" ");
    else others.push(`${field}: ${rule}`);
  }
  const wait = retryAfter && `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`;
  // The message may say no more than the fields themselves.
  const said = ["Validation failed.", ...validations.map((each) => each.detail)];
  const isSaid = validations.length > 0 && others.length === 0 && !detail && said.includes(message);
  const whole = isSaid ? undefined : [message, detail, ...others, wait].filter(Boolean).join(" ");
  return { fields, whole };
}

interface FormProps {
  fields: readonly FieldSpec[];
  submit: string;
  onSubmit: (values: Values) => Promise<unknown>;
  onCancel?: () => void;
}

/** A form whose faults appear next to their fields, all at once. The first one gets the focus. */
export function Form({ fields, submit, onSubmit, onCancel }: FormProps) {
  const [faults, setFaults] = useState<Faults>({ fields: {} });
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  async function send(event: FormEvent) {
    event.preventDefault();
    const data = new FormData(form.current!);
    const values = Object.fromEntries(fields.map(({ name }) => [name, String(data.get(name) ?? "")]));
    setBusy(true);
    try {
      await onSubmit(values);
      setFaults({ fields: {} });
    } catch (error) {
      const found = faultsOf(
        error,
        fields.map(({ name }) => name),
      );
      setFaults(found);
      const first = fields.find(({ name }) => found.fields[name]);
      if (first) (form.current?.elements.namedItem(first.name) as HTMLElement | null)?.focus();
    } finally {
      setBusy(false);
    }
  }

  return (
    <form ref={form} onSubmit={(event) => void send(event)} noValidate>
      {faults.whole && (
        <p className="alarm" role="alert">
          {faults.whole}
        </p>
      )}
      {fields.map((field) => (
        <Field key={field.name} field={field} fault={faults.fields[field.name]} />
      ))}
      <footer>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" className="primary" disabled={isBusy}>
          {submit}
        </button>
      </footer>
    </form>
  );
}

function Field({ field, fault }: { field: FieldSpec; fault?: string }) {
  const id = useId();
  const { name, label, value = "", hint, type = "text", options, isRequired, autoComplete = "off" } = field;
  const shared = {
    id,
    name,
    required: isRequired,
    "aria-invalid": fault ? true : undefined,
    "aria-describedby": fault || hint ? `${id}-note` : undefined,
  };
  const control = options ? (
    <select {...shared} defaultValue={value}>
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  ) : type === "area" ? (
    <textarea {...shared} rows={4} defaultValue={value} />
  ) : type === "check" ? (
    <input {...shared} type="checkbox" value="yes" defaultChecked={value === "yes"} />
  ) : (
    <input {...shared} type={type} defaultValue={value} autoComplete={autoComplete} />
  );
  return (
    <div className={`field ${type}`}>
      <label htmlFor={id}>
        {label}
        {!isRequired && type !== "check" && <span className="faint"> (optional)</span>}
      </label>
      {control}
      {(fault || hint) && (
        <p id={`${id}-note`} className={fault ? "fault" : "hint"}>
          {fault ?? hint}
        </p>
      )}
    </div>
  );
}

interface Named {
  name: string;
  displayName: string;
  organization?: Named;
}

/** Names of objects, by which people can tell them apart: with what they are unique by where display names are equal. */
export function labelOf(object: Named, all: readonly Named[]): string {
  const short = ({ name, displayName }: Named) => displayName || name;
  const isUnique = all.filter((each) => short(each) === short(object)).length < 2;
  const exact = [object.organization?.name, object.name].filter(Boolean).join("/");
  return isUnique ? short(object) : `${short(object)} (${exact})`;
}

/** The form in a dialog, which closes when it has succeeded. */
export const FormDialog = ({
  title,
  onClose,
  onSubmit,
  ...form
}: Omit<FormProps, "onCancel"> & { title: string; onClose: () => void }) => (
  <Dialog title={title} onClose={onClose}>
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

interface ConfirmedProps {
  label: string;
  /** What it acts on, if the page has several such buttons. */
  on?: string;
  question: string;
  act: () => Promise<unknown>;
}

/** A button that asks before it acts. */
export function Confirmed({ label, on, question, act }: ConfirmedProps) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <button type="button" className="danger" aria-label={on && `${label} ${on}`} onClick={() => setAsking(true)}>
        {label}
      </button>
      {isAsking && (
        <FormDialog title={question} submit={label} fields={[]} onSubmit={act} onClose={() => setAsking(false)} />
      )}
    </>
  );
}
