import { type Problems, quote } from "../kernel/errors.js";
import type { Services } from "../kernel/context.js";
import { templateVariables } from "../encryption/columns.js";
import type { Sealed } from "../../infrastructure/vault.js";
import type { TemplateDocument } from "./template-documents.js";
import { typeProblem } from "./parameter-values.js";

/** The value of a variable, as text: numbers and truths in JSON. */
export interface VariableValue {
  name: string;
  value: string;
}

/** The variables of a version. */
export interface ResolvedVariables {
  /** In the order of the document. */
  values: VariableValue[];
  /** The names of those that have no value although they need one. */
  missing: string[];
  /** Those of them whose value the version before has, but which this one could show. */
  withheld: string[];
}

/** The values that a version takes over from the version before. */
export interface KeptVariables {
  values: ReadonlyMap<string, string>;
  /** The names of sensitive variables whose values are not kept, since the version could show them. */
  withheld: ReadonlySet<string>;
}

/**
 * Chooses the values of the variables of a document: the given ones, else those of the version before that have the type,
 * else the defaults. Those that are withheld must be given. Adds the faults of given values, which are secret and not quoted.
 */
export function resolveVariables(
  { variables }: Pick<TemplateDocument, "variables">,
  given: readonly VariableValue[],
  problems: Problems,
  kept?: KeptVariables,
): ResolvedVariables {
  const declared = new Map(variables.map((variable) => [variable.name, variable]));
  const values = new Map<string, string>();
  for (const [index, { name, value }] of given.entries()) {
    const variable = declared.get(name);
    if (!variable) problems.add(`variables[${index}].name`, `There is no variable ${quote(name)}.`);
    else if (values.has(name)) problems.add(`variables[${index}].name`, "Must be given once.");
    else problems.add(`variables[${index}].value`, typeProblem(variable.type, value));
    values.set(name, value);
  }
  const resolved = variables.map(({ name, type, default: otherwise }) => {
    const former = kept?.values.get(name);
    const isFit = former !== undefined && typeProblem(type, former) === undefined;
    const isWithheld = kept?.withheld.has(name) ?? false;
    return { name, value: values.get(name) ?? (isWithheld ? undefined : isFit ? former : otherwise) };
  });
  const missing = resolved.filter(({ value }) => value === undefined).map(({ name }) => name);
  return {
    values: resolved.flatMap(({ name, value }) => (value === undefined ? [] : { name, value })),
    missing,
    withheld: missing.filter((name) => kept?.withheld.has(name)),
  };
}

/** The stored variables of a version; null without any. */
export interface StoredVariables {
  id: string;
  templateId: string;
  variablesKeyId: string | null;
  variablesNonce: Buffer | null;
  variablesCiphertext: Buffer | null;
}

const placeOf = ({ id, templateId }: Pick<StoredVariables, "id" | "templateId">) =>
  templateVariables.place({ id, ownerId: templateId });

/** Encrypts the variables of a version; `undefined` without any. */
export const sealVariables = (
  { vault }: Pick<Services, "vault">,
  version: Pick<StoredVariables, "id" | "templateId">,
  values: readonly VariableValue[],
): Sealed | undefined => (values.length > 0 ? vault.seal(placeOf(version), JSON.stringify(values)) : undefined);

/** Decrypts the variables of a version. Throws UNAVAILABLE if this server lacks their key. */
export function openVariables({ vault }: Pick<Services, "vault">, version: StoredVariables): VariableValue[] {
  const { variablesKeyId: keyId, variablesNonce: nonce, variablesCiphertext: ciphertext } = version;
  if (keyId === null || nonce === null || ciphertext === null) return [];
  return JSON.parse(vault.open(placeOf(version), { keyId, nonce, ciphertext })) as VariableValue[];
}
