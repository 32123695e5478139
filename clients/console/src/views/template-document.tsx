// A button for a mutation that takes a template document, with a field for each variable that the document declares.
import { useState } from "preact/hooks";
import { perform } from "../api/client";
import { InvalidInput } from "../api/errors";
import type { Operation } from "../api/operation";
import { Dialog } from "../ui/dialog";
import { type FieldSpec, Form } from "../ui/form";
import { starters } from "../../../api/template-starters";
import type { TemplateVariableInput } from "./templates.gql";

interface Variable {
  name: string;
  description?: string;
  type?: "string" | "number" | "bool";
  default?: unknown;
  sensitive?: boolean;
}

/** The variables of a document, which may have any fault: the server reports them. */
function variablesIn(document: unknown): Variable[] {
  const { variables } = (document ?? {}) as { variables?: unknown };
  return Array.isArray(variables) ? variables.filter((each: Variable | null) => typeof each?.name === "string") : [];
}

/** The variables in the text of a document; undefined while it is no JSON. */
function variablesOf(text: string): Variable[] | undefined {
  try {
    return variablesIn(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The field of a variable is named by its place, as the server names it in its faults. */
const nameOf = (at: number) => `variables[${at}]`;

const kinds = { string: "text", number: "number", bool: "check" } as const;

function fieldOf({ name, description, type = "string", default: given, sensitive }: Variable, at: number): FieldSpec {
  const keeps = sensitive && given !== undefined && "Empty takes the default of the document.";
  return {
    name: nameOf(at),
    label: `Variable ${name}`,
    hint: [description, keeps].filter(Boolean).join(" "),
    kind: sensitive && type !== "bool" ? "password" : (kinds[type] ?? "text"),
    isRequired: given === undefined && type !== "bool",
    autoComplete: "off",
    ...(type !== "bool" && { read: (text: string) => text }),
  };
}

/** The initial value of the field of a variable. */
const initialOf = ({ type, default: given, sensitive }: Variable) =>
  type === "bool" ? given === true || given === "true" : sensitive || given === undefined ? "" : String(given);

/** The values of all variables, in their order. Throws what lacks a value: the import would fail because of it. */
function valuesOf(variables: readonly Variable[], filled: Readonly<Record<string, unknown>>): TemplateVariableInput[] {
  const values = variables.map((variable, at) => {
    const value = String(filled[nameOf(at)] ?? "");
    const isOfDefault =
      value === "" && variable.default !== undefined && (variable.sensitive || variable.type === "number");
    return { name: variable.name, value: isOfDefault ? String(variable.default) : value };
  });
  const missing = values.flatMap(({ value }, at) =>
    value === "" && variables[at]!.default === undefined ? [{ field: nameOf(at), detail: "Needs a value." }] : [],
  );
  if (missing.length > 0) throw new InvalidInput(missing);
  return values;
}

const starterField: FieldSpec = {
  name: "starter",
  label: "Begin with",
  options: starters.map(({ name, title, sentence }) => [name, title, sentence] as const),
};

interface DocumentActionProps<Data, Input extends object> {
  label: string;
  run: Operation<Data, { input: Input }>;
  given: Partial<Input>;
  /** The fields before the document. */
  before: ReadonlyArray<FieldSpec | string>;
  /** The fields after the document and its variables. */
  after: readonly FieldSpec[];
  defaults: Readonly<Record<string, unknown>> & { document: unknown };
  note?: string;
  /** Whether it begins with a choice of documents. */
  hasStarters?: true;
  /** Makes the input of what is filled in, if they differ. */
  prepare?: (values: Record<string, unknown>) => Record<string, unknown>;
  done: (data: Data) => unknown;
}

export function DocumentAction<Data, Input extends object>(props: DocumentActionProps<Data, Input>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={props.hasStarters && "primary"} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {props.label}
      </button>
      {isOpen && <DocumentDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function DocumentDialog<Data, Input extends object>({
  label,
  run,
  given,
  before,
  after,
  defaults,
  note,
  hasStarters,
  prepare,
  done,
  onClose,
}: DocumentActionProps<Data, Input> & { onClose: () => void }) {
  const [variables, setVariables] = useState(() => variablesIn(defaults.document));
  const look = ({ target }: Event) => {
    const { name, value, form } = target as HTMLTextAreaElement;
    if (name === "document") setVariables((known) => variablesOf(value) ?? known);
    const starter = name === "starter" && starters.find((each) => each.name === value);
    if (!starter) return;
    const document = form!.elements.namedItem("document") as HTMLTextAreaElement;
    document.value = JSON.stringify(starter.document, undefined, 2);
    setVariables(variablesIn(starter.document));
  };
  return (
    <Dialog title={label} onClose={onClose}>
      {note && variables.length > 0 && <p class="note">{note}</p>}
      <div onInput={look}>
        <Form
          fields={[
            ...(hasStarters ? [starterField] : []),
            ...before,
            {
              name: "document",
              hint: "JSON, as the guide to template documents describes it.",
              files: ".json,application/json",
            },
            ...variables.map(fieldOf),
            ...after,
          ]}
          input={run.input}
          defaults={{
            starter: starters[0]!.name,
            ...defaults,
            ...Object.fromEntries(variables.map((each, at) => [nameOf(at), initialOf(each)])),
          }}
          submit="Create"
          onSubmit={async (filled) => {
            const own = Object.entries(filled).filter(([name]) => !name.startsWith("variables[") && name !== "starter");
            const values = valuesOf(variables, filled);
            const input = {
              ...given,
              ...(prepare ? prepare(Object.fromEntries(own)) : Object.fromEntries(own)),
              ...(values.length > 0 && { variables: values }),
            };
            const data = await perform(run, { input: input as unknown as Input });
            onClose();
            done(data);
          }}
          onCancel={onClose}
        />
      </div>
    </Dialog>
  );
}
