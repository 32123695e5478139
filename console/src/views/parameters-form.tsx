// The parameters and presets of a template version as a form.
import type { InputField } from "../api/operation";
import { type FieldSpec, Form } from "../ui/form";
import { titleOf, wordsOf } from "../ui/text";
import type { VersionParametersQuery } from "./templates.gql";

type Version = NonNullable<VersionParametersQuery["templateVersion"]>;
type Parameter = Version["parameters"][number];

/** The names of the fields of parameters begin with it: a workspace has a name of its own. */
const prefix = "parameters.";

const kinds = { STRING: "text", NUMBER: "number", BOOL: "check", LIST: "area" } as const;

function fieldOf({ name, displayName, description, type, defaultValue, options }: Parameter): FieldSpec {
  return {
    name: prefix + name,
    label: displayName || wordsOf(name),
    hint: description,
    kind: type === "LIST" && options.length > 0 ? "choices" : kinds[type],
    options: options.length > 0 ? options.map((each) => [each.value, each.name] as const) : undefined,
    isRequired: defaultValue === null,
    // Parameters are texts, whatever their type. An empty text is no value of a required one.
    ...(type !== "BOOL" && {
      read: (text: string) =>
        type === "LIST" ? text.split("\n").filter(Boolean) : text || (defaultValue === null ? undefined : ""),
    }),
  };
}

/** The default of a parameter as its field has it. */
function initialOf({ type, defaultValue }: Parameter): unknown {
  if (type === "BOOL") return defaultValue === "true";
  return type === "LIST" && defaultValue ? JSON.parse(defaultValue) : defaultValue;
}

/** The input that chooses the values: a preset, and those that it does not set. */
interface Chosen {
  presetId?: string;
  parameters: Array<{ name: string; value: string }>;
}

interface ParametersFormProps {
  version: Pick<Version, "parameters" | "presets"> | null | undefined;
  /** Fields before those of the parameters. */
  fields?: readonly FieldSpec[];
  input: Readonly<Record<string, InputField>>;
  submit: string;
  onSubmit: (chosen: Chosen, others: Record<string, unknown>) => Promise<unknown>;
  onCancel: () => void;
}

const none: readonly FieldSpec[] = [];

export function ParametersForm({ version, fields = none, input, submit, onSubmit, onCancel }: ParametersFormProps) {
  const parameters = version?.parameters ?? [];
  const presets = version?.presets ?? [];
  const own = new Set(fields.map(({ name }) => name));
  return (
    <Form
      fields={[
        ...fields,
        ...(presets.length > 0
          ? [
              {
                name: "presetId",
                label: "Preset",
                hint: "It sets its parameters, whatever they are below.",
                options: presets.map((each) => [each.id, titleOf(each)] as const),
              },
            ]
          : []),
        ...parameters.map(fieldOf),
      ]}
      input={input}
      submit={submit}
      onSubmit={async ({ presetId, ...filled }) => {
        const entries = Object.entries(filled);
        const preset = presets.find(({ id }) => id === presetId);
        const set = new Set(preset?.parameters.map(({ name }) => name));
        const given = entries
          .filter(([field]) => !own.has(field))
          .map(([field, value]) => ({
            name: field.slice(prefix.length),
            value: Array.isArray(value) ? JSON.stringify(value) : String(value),
          }))
          .filter(({ name }) => !set.has(name));
        await onSubmit(
          { presetId: preset?.id, parameters: given },
          Object.fromEntries(entries.filter(([field]) => own.has(field))),
        );
      }}
      defaults={Object.fromEntries(parameters.map((each) => [prefix + each.name, initialOf(each)]))}
      onCancel={onCancel}
    />
  );
}
