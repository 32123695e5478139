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

/** The value of a parameter as its field has it. */
function initialOf(type: Parameter["type"], value: string | null): unknown {
  if (type === "BOOL") return value === "true";
  return type === "LIST" && value ? JSON.parse(value) : value;
}

type Values = ReadonlyArray<{ name: string; value: string }>;

/** The input that chooses the values. */
interface Chosen {
  presetId?: string;
  parameters: Array<Values[number]>;
}

interface ParametersFormProps {
  version: Pick<Version, "parameters" | "presets"> | null | undefined;
  /** Fields before those of the parameters. */
  fields?: readonly FieldSpec[];
  /** The values of the previous build, of which some cannot change. */
  previous?: Values;
  /** Values of another workspace, from which this one begins. */
  like?: Values;
  input: Readonly<Record<string, InputField>>;
  submit: string;
  onSubmit: (chosen: Chosen, others: Record<string, unknown>) => Promise<unknown>;
  onCancel: () => void;
}

const none: readonly FieldSpec[] = [];

export function ParametersForm(props: ParametersFormProps) {
  const { version, fields = none, previous, like, input, submit, onSubmit, onCancel } = props;
  const before = new Map(previous?.map(({ name, value }) => [name, value]));
  const copied = new Map(like?.map(({ name, value }) => [name, value]));
  const parameters = (version?.parameters ?? []).filter(
    ({ name, isMutable, isEphemeral }) => isMutable || isEphemeral || !before.has(name),
  );
  const presets = version?.presets ?? [];
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
        const preset = presets.find(({ id }) => id === presetId);
        // Given, since those of the previous build precede those of the preset.
        const set = new Map(preset?.parameters.map(({ name, value }) => [name, value]));
        const given = parameters.flatMap(({ name }) => {
          const value = set.get(name) ?? filled[prefix + name];
          if (value === undefined) return [];
          return [{ name, value: Array.isArray(value) ? JSON.stringify(value) : String(value) }];
        });
        await onSubmit(
          { presetId: preset?.id, parameters: given },
          Object.fromEntries(fields.map(({ name }) => [name, filled[name]])),
        );
      }}
      defaults={Object.fromEntries(
        parameters.map(({ name, type, defaultValue, isEphemeral }) => [
          prefix + name,
          initialOf(type, (isEphemeral ? undefined : (before.get(name) ?? copied.get(name))) ?? defaultValue),
        ]),
      )}
      onCancel={onCancel}
    />
  );
}
