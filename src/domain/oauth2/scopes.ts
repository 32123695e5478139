import type { Config } from "../../config/config.js";
import { isScope, narrowed } from "../authorization/authorization.js";
import type { ClientRow } from "./client-rows.js";
import { oauthFailure } from "./failures.js";

/** Maximum size of a `scope` parameter in bytes, and number of scopes in it. */
const longest = 4096;
const mostScopes = 100;

type Configured = Pick<Config, "oauth2DynamicScopes">;

const namesIn = (scope: string) => [...new Set(scope.split(" ").filter(Boolean))];

/** The rule of `scope` parameters. */
export const scopeProblem = (scope: string): string | undefined =>
  Buffer.byteLength(scope) <= longest && namesIn(scope).length <= mostScopes
    ? undefined
    : `Must be at most ${mostScopes} scopes in ${longest} bytes.`;

/** Splits the `scope` parameter (RFC 6749 §3.3). Throws `invalid_scope` for one that is too long. */
export function splitScope(scope: string): string[] {
  const problem = scopeProblem(scope);
  if (problem !== undefined) throw oauthFailure("invalid_scope", `The parameter scope is too long. ${problem}`);
  return namesIn(scope);
}

/** Whether scopes cover everything that others cover. */
export const coversAll = (held: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((scope) => narrowed([scope], held).includes(scope));

/**
 * The scopes of a request of an application: those of the `scope` parameter, or without it the application's own. Names
 * of no scope are dropped; if nothing remains, the request is for `user:read`. Throws `invalid_scope` for scopes beyond
 * the ceiling of the application.
 */
export function requestedScopes(client: ClientRow, scope: string | null | undefined, config: Configured): string[] {
  const wanted = scope ? splitScope(scope) : initialScopes(client, config);
  const known = wanted.filter(isScope);
  const scopes = known.length > 0 ? known : ["user:read"];
  requireWithin(client, scopes);
  return scopes;
}

/** Throws `invalid_scope` for scopes beyond the ceiling of the application, naming them. */
export function requireWithin({ scopeCeiling }: ClientRow, scopes: readonly string[]): void {
  if (scopeCeiling === null) return;
  const beyond = scopes.filter((scope) => !coversAll(scopeCeiling, [scope]));
  if (beyond.length > 0)
    throw oauthFailure("invalid_scope", `The application may not get the scopes ${beyond.join(" ")}.`);
}

/** What an application gets that names no scope. */
function initialScopes({ kind, scopeCeiling, metadata }: ClientRow, { oauth2DynamicScopes }: Configured): string[] {
  if (kind === "admin") return scopeCeiling ?? ["all"];
  return typeof metadata.scope === "string" ? splitScope(metadata.scope) : oauth2DynamicScopes;
}
