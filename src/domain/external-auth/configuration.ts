import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import { isObject, jsonIn } from "../../runtime/json.js";
import { isStorable } from "../../runtime/text.js";
import { addFault, icon, isValid, type Payload } from "../kernel/values.js";
import {
  type Endpoints,
  ExternalAuthProviderType,
  type TokenAuthMethod,
  type TypeTraits,
  typeTraits,
} from "./types.js";

/** A configured service at which users link accounts. */
export interface ExternalAuthProvider extends Endpoints {
  readonly id: string;
  readonly type: ExternalAuthProviderType;
  /** Its position in the configuration, from 0. */
  readonly position: number;
  readonly clientId: string;
  /** Empty if users link accounts by device code only. */
  readonly clientSecret: string;
  readonly authMethod: TokenAuthMethod;
  readonly usesPkce: boolean;
  readonly scopes: readonly string[];
  readonly displayName: string;
  readonly displayIcon: string;
  /** Page at which the provider's application is installed; empty if none. */
  readonly appInstallUrl: string;
  readonly noRefresh: boolean;
  readonly deviceFlow: boolean;
  /** The issuer that callbacks must name (RFC 9207); empty if they need not. */
  readonly issuer: string;
  /** Matches the Git URLs that the provider serves; undefined if it serves none. */
  readonly regex: RegExp | undefined;
  /** Fields of token responses that agents receive. */
  readonly extraTokenKeys: readonly string[];
  /** Empty for the callback of this server. */
  readonly redirectUrl: string;
}

const mostProviders = 50;

/** Reads the JSON array of providers, or lists all faults. Faults name index, id and field, never a value. */
export function readProviders(text: string): { value: ExternalAuthProvider[]; faults: string[] } {
  const entries = jsonIn(text);
  const { data = [], error } = z.safeParse(configuration, entries);
  const faults = error?.issues.map(({ path: [index, field], message }) =>
    index === undefined ? message : `entry ${String(index)}${nameOf(entries, index)}: ${String(field)} ${message}`,
  );
  return { value: data, faults: faults ?? [] };
}

/** The id of an entry in parentheses, unless it or the type is invalid. */
function nameOf(entries: unknown, index: PropertyKey): string {
  const entry: unknown = (entries as Record<PropertyKey, unknown>)[index];
  const { data } = z.safeParse(z.object({ type, id: z.nullish(id) }), entry);
  return data ? ` (${data.id ?? data.type})` : "";
}

const textRule = "must be text of at most 4096 characters";
const text = z.string(textRule).check(z.refine((given) => given.length <= 4096 && isStorable(given), textRule));

const fitting = (holds: (given: string) => boolean, rule: string) => text.check(z.refine(holds, rule));

/** An absolute URL; empty for none. */
const url = fitting(
  (given) => given === "" || isEndpoint(given),
  "must be an absolute http or https URL without user information and fragment",
);

function isEndpoint(given: string): boolean {
  const found = URL.parse(given);
  const isBare = found !== null && found.username === "" && found.password === "" && !/[#\s\\]/.test(given);
  return isBare && /^https?:\/\//i.test(given);
}

const orNone = (schema: z.ZodMiniString<string>) => z.prefault(schema, "");
const flag = z.prefault(z.boolean("must be true or false"), false);

const textsRule = "must be a list of at most 100 texts";
const texts = z.array(z.string(textsRule), textsRule).check(z.maxLength(100, textsRule));

const types = Object.values(ExternalAuthProviderType);
const type = z.pipe(
  z.transform((given) => (given === "bitbucket" ? "bitbucket-cloud" : given)),
  z.enum(types, `must be one of ${types.join(", ")}`),
);

const id = fitting(
  (given) => given.length <= 32 && /^[a-z0-9]+(-[a-z0-9]+)*$/i.test(given),
  "must be 1 to 32 letters and digits in runs joined by single hyphens",
);

const fields = z
  .object({
    type,
    id: z.optional(id),
    client_id: orNone(text),
    device_flow: flag,
    client_secret: orNone(text),
    /** The path of a file with the secret. */
    client_secret_file: z.prefault(z.pipe(text, z.transform(readSecret)), ""),
    auth_url: orNone(url),
    api_base_url: orNone(url),
    token_url: z.optional(url),
    validate_url: z.optional(url),
    revoke_url: z.optional(url),
    device_code_url: z.optional(url),
    app_installations_url: z.optional(url),
    token_auth_method: z.optional(z.enum(["post", "basic", "assertion"], "must be post or basic")),
    pkce_methods: z.optional(z.array(z.literal("S256", "may contain only S256"), textsRule)),
    scopes: z.optional(texts),
    display_name: orNone(text),
    display_icon: z.optional(
      fitting(
        (given) => isValid(icon, given),
        "must be empty, a path that begins with one slash, or an http or https URL",
      ),
    ),
    app_install_url: orNone(url),
    no_refresh: flag,
    issuer: orNone(url),
    regex: orNone(fitting(isPattern, "must be a regular expression")),
    extra_token_keys: z.prefault(texts, []),
    redirect_url: orNone(url),
  })
  .check(
    z.refine(({ client_secret: secret, client_secret_file: inFile }) => secret === "" || inFile === "", {
      error: "and client_secret_file are mutually exclusive",
      path: ["client_secret"],
      when: () => true,
    }),
  );

function readSecret(path: string, { issues }: Payload<unknown>): string {
  try {
    return path && readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch {
    issues.push({ code: "custom", input: path, message: "must be the path of a readable file" });
    return path;
  }
}

function isPattern(given: string): boolean {
  try {
    return Boolean(new RegExp(given));
  } catch {
    return false;
  }
}

type Fields = z.output<typeof fields>;

/** Adds the defaults of the type. */
function providerOf(given: Fields, payload: Payload<unknown>): Omit<ExternalAuthProvider, "position"> {
  const traits = typeTraits[given.type];
  const endpoints = endpointsOf(given, traits);
  const clientSecret = given.client_secret || given.client_secret_file;
  const authMethod = given.token_auth_method ?? traits.authMethod;
  const required = {
    client_id: given.client_id,
    client_secret: clientSecret || given.device_flow,
    auth_url: endpoints.authUrl,
    token_url: endpoints.tokenUrl,
  };
  for (const [field, value] of Object.entries(required)) if (!value) addFault(payload, "is required", field);
  if (given.device_flow && endpoints.deviceCodeUrl === "")
    addFault(payload, "is required for the device flow", "device_code_url");
  if (authMethod === "assertion" && traits.authMethod !== "assertion")
    addFault(payload, "must be post or basic", "token_auth_method");
  return {
    id: given.id ?? given.type,
    type: given.type,
    clientId: given.client_id,
    clientSecret,
    deviceFlow: given.device_flow,
    ...endpoints,
    authMethod,
    usesPkce: given.pkce_methods ? given.pkce_methods.length > 0 : traits.usesPkce,
    scopes: given.scopes ?? traits.scopes,
    displayName: given.display_name || traits.name,
    displayIcon: given.display_icon ?? traits.icon,
    appInstallUrl: given.app_install_url,
    noRefresh: given.no_refresh,
    issuer: given.issuer,
    regex: given.regex === "" ? gitUrls(traits, endpoints.authUrl) : new RegExp(given.regex),
    extraTokenKeys: given.extra_token_keys,
    redirectUrl: given.redirect_url,
  };
}

function endpointsOf(given: Fields, { origin, endpoints: derive }: TypeTraits): Endpoints {
  const api = given.api_base_url.replace(/\/+$/, "");
  const at = given.auth_url ? new URL(given.auth_url).origin : origin;
  const derived = at ? derive(at, given.client_id, api || undefined) : {};
  return {
    authUrl: given.auth_url || (derived.authUrl ?? ""),
    tokenUrl: given.token_url ?? derived.tokenUrl ?? "",
    validateUrl: given.validate_url ?? derived.validateUrl ?? "",
    revokeUrl: given.revoke_url ?? derived.revokeUrl ?? "",
    deviceCodeUrl: given.device_code_url ?? derived.deviceCodeUrl ?? "",
    appInstallationsUrl: given.app_installations_url ?? derived.appInstallationsUrl ?? "",
    apiBaseUrl: api || (derived.apiBaseUrl ?? ""),
  };
}

/** Matches the http and https URLs of the provider's host, with or without scheme; undefined for one without Git. */
function gitUrls({ gitHost }: TypeTraits, authUrl: string): RegExp | undefined {
  if (gitHost === null || !authUrl) return undefined;
  const host = (gitHost ?? new URL(authUrl).host).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^(https?://([^/@]*@)?)?${host}(/.*)?$`, "i");
}

/** An entry of the configuration. Members that are null count as absent. */
const entry = z.pipe(
  z.transform((given) =>
    isObject(given) ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) : {},
  ),
  z.pipe(fields, z.transform(providerOf)),
);

const configuration = z.pipe(
  z
    .array(entry, "must be a JSON array of providers")
    .check(z.maxLength(mostProviders, `must have at most ${mostProviders} providers`)),
  z.transform((providers, payload) => {
    const ids = providers.map((each) => each.id.toLowerCase());
    return providers.map((each, position): ExternalAuthProvider => {
      if (ids.indexOf(ids[position]!) < position) addFault(payload, "is the id of another provider", position, "id");
      return { ...each, position };
    });
  }),
);
