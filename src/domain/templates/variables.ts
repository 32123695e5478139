import { type Problems, quote } from "../kernel/errors.js";
import type { Services } from "../kernel/context.js";
import { templateVariables } from "../encryption/columns.js";
import type { Sealed } from "../../infrastructure/vault.js";
import type { TemplateDocument } from "./template-documents.js";
import { typeProblem } from "./values.js";

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
}

/**
 * Chooses the values of the variables of a document: the given ones, else the defaults. Adds the faults of given values,
 * which are secret and not quoted.
 */
export function resolveVariables(
  { variables }: Pick<TemplateDocument, "variables">,
  given: readonly VariableValue[],
  problems: Problems,
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
  const resolved = variables.map(({ name, default: otherwise }) => ({ name, value: values.get(name) ?? otherwise }));
  return {
    values: resolved.flatMap(({ name, value }) => (value === undefined ? [] : { name, value })),
    missing: resolved.filter(({ value }) => value === undefined).map(({ name }) => name),
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
