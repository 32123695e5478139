// Providers that the settings of the server declare: in a file, and by the variables of one OpenID provider and of GitHub.
import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import { EmailLinking, type ProviderSettings, usualScopes } from "../../infrastructure/identity-providers.js";
import type { Config } from "../../runtime/config.js";
import { jsonIn } from "../../runtime/json.js";
import { foldCase } from "../../runtime/text.js";
import { Problems } from "../kernel/errors.js";
import { pickGiven } from "../kernel/changed-fields.js";
import { jsonSchemaOf, optional, string, validate } from "../kernel/values.js";
import { type ClaimMappingInput, mappingsOf } from "./claim-mappings.js";
import { addProviderProblems, CreateIdentityProvider, initially, type PublicSettings } from "./provider-settings.js";

const declaration = z.strictObject({
  ...CreateIdentityProvider.shape,
  clientSecretFile: optional(string, "In place of a secret: path of a file with it."),
  clientKeyFile: optional(string, "In place of a key: path of a file with it."),
});

const file = z.strictObject({
  $schema: optional(string, "URL of the JSON Schema of this file."),
  providers: z
    .array(declaration)
    .check(
      z.maxLength(50, "Must be at most 50 providers."),
      z.describe("The providers, in the order of sign-in pages."),
    ),
});

/** The path at which a server has the JSON Schema of the file. */
export const providersSchemaPath = "/schemas/steward.providers-1.json";

/** The JSON Schema of the file. It lacks the rules for members that depend on each other. */
export const providersJsonSchema = () => ({
  ...jsonSchemaOf(file),
  title: "steward.providers/1",
  description: "The providers at which users of Steward sign in.",
});

/** A provider that a file declares. */
export interface DeclaredProvider {
  settings: ProviderSettings;
  isEnabled: boolean;
}

/** Completes "must be". */
export const providersRule = `a JSON object with providers, as ${providersSchemaPath} describes it`;

/** Reads the text of the file, or lists all faults. Faults name entries and fields, never a value. */
export function readSignInProviders(text: string): { value: DeclaredProvider[]; faults: string[] } {
  const problems = new Problems();
  const given = validate(file, jsonIn(text), problems, "file");
  const value = (given?.providers ?? []).flatMap((each, index) => declared(each, problems, `file.providers[${index}]`));
  for (const [index, { settings }] of value.entries())
    if (value.findIndex((other) => other.settings.name === settings.name) < index)
      problems.add(`file.providers[${index}].name`, "Is the name of another provider.");
  const faults = problems.found.map(
    ({ field, detail }) => `has a fault at ${field.replace(/^file\.?/, "") || "the top"}: ${detail.replace(/\.$/, "")}`,
  );
  return { value: faults.length > 0 ? [] : value, faults };
}

function declared(given: z.output<typeof declaration>, problems: Problems, path: string): DeclaredProvider[] {
  const { clientSecretFile, clientKeyFile, isEnabled, ...fields } = given;
  const own = new Problems();
  const clientSecret = fields.clientSecret ?? textIn(clientSecretFile, own, "clientSecretFile");
  const clientKey = fields.clientKey ?? textIn(clientKeyFile, own, "clientKeyFile");
  const settings = { ...initially(fields.kind), ...settingsIn(fields), name: fields.name, clientId: fields.clientId };
  if (fields.clientSecret != null && clientSecretFile != null)
    own.add("clientSecretFile", "Must not be given with a secret.");
  if (fields.clientKey != null && clientKeyFile != null) own.add("clientKeyFile", "Must not be given with a key.");
  if (own.isEmpty) addProviderProblems(own, settings, { clientSecret, clientKey, isKnown: false });
  // Rules of the credential that was read from a file.
  for (const [field, text] of Object.entries({ clientSecret, clientKey }))
    if (own.isEmpty && text != null)
      validate(CreateIdentityProvider.shape[field as "clientKey"] as z.ZodMiniType, text, own, field);
  for (const { field, detail } of own.found) problems.add(`${path}.${field}`, detail);
  if (!own.isEmpty) return [];
  const credential = clientKey != null ? { privateKey: clientKey } : { secret: clientSecret! };
  return [{ settings: { ...settings, credential }, isEnabled: isEnabled ?? true }];
}

function textIn(path: string | null | undefined, problems: Problems, field: string): string | undefined {
  if (path == null) return undefined;
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch {
    problems.add(field, "Must be the path of a readable file.");
    return undefined;
  }
}

/** The fields of settings among those of an input that are given. Domains are compared in lower case. */
export function settingsIn(
  fields: {
    [Field in keyof Omit<PublicSettings, "name" | "kind" | "claimMappings">]?: PublicSettings[Field] | null | undefined;
  } & { claimMappings?: readonly ClaimMappingInput[] | null | undefined },
): Partial<Omit<PublicSettings, "name" | "kind">> {
  const { displayName, icon, issuer, clientId, scopes, subjectClaim, emailVerified } = fields;
  const { followsEmail, linksByEmail, admitsNewcomers, organizations, tenants } = fields;
  const [emailDomains, hostedDomains] = [fields.emailDomains, fields.hostedDomains].map((domains) =>
    domains?.map(foldCase),
  );
  const given = { displayName, icon, issuer, clientId, scopes, subjectClaim, emailVerified, emailDomains };
  return pickGiven({
    ...given,
    followsEmail,
    linksByEmail,
    admitsNewcomers,
    organizations,
    tenants,
    hostedDomains,
    factorMethods: fields.factorMethods,
    factorContexts: fields.factorContexts,
    claimMappings: fields.claimMappings && mappingsOf(fields.claimMappings),
    appliesClaims: fields.appliesClaims,
    locksGroups: fields.locksGroups,
    signsOut: fields.signsOut,
    checkInterval: fields.checkInterval,
  });
}

/** A provider that variables of the server describe, with the setting that has its issuer. */
export interface VariableProvider {
  setting: string;
  settings: ProviderSettings;
}

/** The providers that variables describe: at most one OpenID provider, and GitHub. They are called like their kinds. */
export function providersOfVariables(config: Config): VariableProvider[] {
  const { oidcIssuerUrl, oidcClientId = "", oidcClientSecret = "" } = config;
  const { githubUrl, githubClientId, githubClientSecret = "" } = config;
  const shared = {
    displayName: "",
    icon: "",
    emailVerified: config.oidcEmailVerified,
    emailDomains: config.oidcEmailDomains,
    followsEmail: config.oidcFollowEmail,
    linksByEmail: EmailLinking.ANY,
    admitsNewcomers: true,
    organizations: [],
    tenants: [],
    hostedDomains: [],
    factorMethods: [],
    factorContexts: [],
    claimMappings: [],
    appliesClaims: false,
    locksGroups: false,
    signsOut: false,
    checkInterval: 0,
  };
  const oidc: ProviderSettings = {
    ...shared,
    name: "oidc",
    kind: "oidc",
    issuer: oidcIssuerUrl ?? "",
    clientId: oidcClientId,
    credential: { secret: oidcClientSecret },
    scopes: usualScopes.oidc,
    subjectClaim: config.oidcSubjectClaim,
  };
  const github: ProviderSettings = {
    ...shared,
    name: "github",
    kind: "github",
    issuer: githubUrl,
    clientId: githubClientId ?? "",
    credential: { secret: githubClientSecret },
    scopes: usualScopes.github,
    subjectClaim: "sub",
  };
  return [
    ...(oidcIssuerUrl === undefined ? [] : [{ setting: "STEWARD_OIDC_ISSUER_URL", settings: oidc }]),
    ...(githubClientId === undefined ? [] : [{ setting: "STEWARD_GITHUB_URL", settings: github }]),
  ];
}
