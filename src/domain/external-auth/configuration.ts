import { readFileSync } from "node:fs";
import { iconProblem, isStorable } from "../kernel/text.js";
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

/** A configuration: its providers, or everything that is wrong with it. */
export interface ReadConfiguration {
  value: ExternalAuthProvider[];
  faults: string[];
}

const mostProviders = 50;

/** Reads the JSON array of providers. Faults name index, id and field, never a value. */
export function readProviders(text: string): ReadConfiguration {
  const entries = parse(text);
  if (!Array.isArray(entries)) return { value: [], faults: ["must be a JSON array of providers"] };
  if (entries.length > mostProviders) return { value: [], faults: [`must have at most ${mostProviders} providers`] };
  const faults: string[] = [];
  const taken = new Set<string>();
  const providers = entries.flatMap((entry: unknown, index) => {
    const fields = new Fields(entry, `entry ${index}`, faults);
    const provider = providerIn(fields, index);
    const id = provider?.id.toLowerCase() ?? "";
    if (provider && taken.has(id)) fields.fault("id", "is the id of another provider");
    taken.add(id);
    return provider ?? [];
  });
  return { value: providers, faults };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const idPattern = /^[a-z0-9]+(-[a-z0-9]+)*$/i;
const isId = (id: string) => id.length <= 32 && idPattern.test(id);

const aliases: Record<string, ExternalAuthProviderType> = { bitbucket: "bitbucket-cloud" };

const typeOf = (name: string): ExternalAuthProviderType | undefined =>
  Object.hasOwn(aliases, name) ? aliases[name] : Object.values(ExternalAuthProviderType).find((type) => type === name);

/** Reads the fields of an entry, and collects its faults. */
class Fields {
  readonly #values: Record<string, unknown>;
  #place: string;

  constructor(
    entry: unknown,
    place: string,
    private readonly faults: string[],
  ) {
    const isObject = typeof entry === "object" && entry !== null && !Array.isArray(entry);
    this.#values = isObject ? (entry as Record<string, unknown>) : {};
    this.#place = place;
  }

  /** Adds the id of the provider to its further faults. */
  named(id: string): void {
    this.#place += ` (${id})`;
  }

  fault(field: string, rule: string): void {
    this.faults.push(`${this.#place}: ${field} ${rule}`);
  }

  text(field: string, otherwise = ""): string {
    const value = this.#of(field);
    if (value === undefined) return otherwise;
    if (typeof value === "string" && value.length <= 4096 && isStorable(value)) return value;
    this.fault(field, "must be text of at most 4096 characters");
    return "";
  }

  required(field: string): string {
    const value = this.text(field);
    if (value === "") this.fault(field, "is required");
    return value;
  }

  /** An absolute URL; empty for none. */
  url(field: string, otherwise = ""): string {
    const value = this.text(field, otherwise);
    if (value === "" || isEndpoint(value)) return value;
    this.fault(field, "must be an absolute http or https URL without user information and fragment");
    return "";
  }

  flag(field: string): boolean {
    const value = this.#of(field) ?? false;
    if (typeof value !== "boolean") this.fault(field, "must be true or false");
    return value === true;
  }

  list(field: string, otherwise: readonly string[]): readonly string[] {
    const value = this.#of(field) ?? otherwise;
    const isList = Array.isArray(value) && value.length <= 100 && value.every((each) => typeof each === "string");
    if (isList) return value;
    this.fault(field, "must be a list of at most 100 texts");
    return [];
  }

  #of(field: string): unknown {
    return Object.hasOwn(this.#values, field) ? (this.#values[field] ?? undefined) : undefined;
  }
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null && /^https?:\/\//i.test(text) && url.username === "" && url.password === "" && !/[#\s\\]/.test(text)
  );
}

function providerIn(fields: Fields, position: number): ExternalAuthProvider | undefined {
  const type = typeOf(fields.text("type"));
  if (type === undefined) {
    fields.fault("type", `must be one of ${Object.values(ExternalAuthProviderType).join(", ")}`);
    return undefined;
  }
  const traits = typeTraits[type];
  const id = fields.text("id", type);
  if (isId(id)) fields.named(id);
  else fields.fault("id", "must be 1 to 32 letters and digits in runs joined by single hyphens");
  const clientId = fields.required("client_id");
  const deviceFlow = fields.flag("device_flow");
  const clientSecret = secretIn(fields, deviceFlow);
  const endpoints = endpointsIn(fields, traits, clientId);
  if (deviceFlow && endpoints.deviceCodeUrl === "") fields.fault("device_code_url", "is required for the device flow");
  return {
    id,
    type,
    position,
    clientId,
    clientSecret,
    deviceFlow,
    ...endpoints,
    authMethod: methodIn(fields, traits),
    usesPkce: pkceIn(fields, traits),
    scopes: fields.list("scopes", traits.scopes),
    displayName: fields.text("display_name") || traits.name,
    displayIcon: iconIn(fields, traits),
    appInstallUrl: fields.url("app_install_url"),
    noRefresh: fields.flag("no_refresh"),
    issuer: fields.url("issuer"),
    regex: regexIn(fields, traits, endpoints.authUrl),
    extraTokenKeys: fields.list("extra_token_keys", []),
    redirectUrl: fields.url("redirect_url"),
  };
}

function secretIn(fields: Fields, deviceFlow: boolean): string {
  const [secret, path] = [fields.text("client_secret"), fields.text("client_secret_file")];
  if (secret && path) fields.fault("client_secret", "and client_secret_file are mutually exclusive");
  const read = path ? contentOf(path) : secret;
  if (read === undefined) fields.fault("client_secret_file", "must be the path of a readable file");
  if (read === "" && !deviceFlow) fields.fault("client_secret", "is required");
  return read ?? "";
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch {
    return undefined;
  }
}

function endpointsIn(fields: Fields, { origin, endpoints: derive }: TypeTraits, clientId: string): Endpoints {
  const authUrl = fields.url("auth_url");
  const api = fields.url("api_base_url").replace(/\/+$/, "");
  const at = authUrl ? new URL(authUrl).origin : origin;
  const derived = at ? derive(at, clientId, api || undefined) : {};
  const found = {
    authUrl: authUrl || derived.authUrl || "",
    tokenUrl: fields.url("token_url", derived.tokenUrl),
    validateUrl: fields.url("validate_url", derived.validateUrl),
    revokeUrl: fields.url("revoke_url", derived.revokeUrl),
    deviceCodeUrl: fields.url("device_code_url", derived.deviceCodeUrl),
    appInstallationsUrl: fields.url("app_installations_url", derived.appInstallationsUrl),
    apiBaseUrl: api || derived.apiBaseUrl || "",
  };
  if (found.authUrl === "") fields.fault("auth_url", "is required");
  if (found.tokenUrl === "") fields.fault("token_url", "is required");
  return found;
}

function methodIn(fields: Fields, { authMethod }: TypeTraits): TokenAuthMethod {
  const method = fields.text("token_auth_method", authMethod);
  if (method === authMethod || method === "post" || method === "basic") return method;
  fields.fault("token_auth_method", "must be post or basic");
  return authMethod;
}

function pkceIn(fields: Fields, { usesPkce }: TypeTraits): boolean {
  const methods = fields.list("pkce_methods", usesPkce ? ["S256"] : []);
  if (methods.some((method) => method !== "S256")) fields.fault("pkce_methods", "may contain only S256");
  return methods.length > 0;
}

function iconIn(fields: Fields, { icon }: TypeTraits): string {
  const given = fields.text("display_icon", icon);
  if (iconProblem(given) === undefined) return given;
  fields.fault("display_icon", "must be empty, a path that begins with one slash, or an http or https URL");
  return "";
}

function regexIn(fields: Fields, { gitHost }: TypeTraits, authUrl: string): RegExp | undefined {
  const given = fields.text("regex");
  if (given === "") return gitHost === null || !authUrl ? undefined : urlsAt(gitHost ?? new URL(authUrl).host);
  try {
    return new RegExp(given);
  } catch {
    fields.fault("regex", "must be a regular expression");
    return undefined;
  }
}

/** Matches the http and https URLs of a host, with or without scheme. */
const urlsAt = (host: string) =>
  new RegExp(`^(https?://([^/@]*@)?)?${host.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(/.*)?$`, "i");
