import { isLostRace } from "../../infrastructure/database/availability.js";
import type { Context } from "../kernel/context.js";
import { DomainError, quote } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { checkDocument, type Json, member } from "./scim-documents.js";
import { fault } from "./faults.js";
import { createScimGroup, deleteScimGroup, patchScimGroup, replaceScimGroup } from "./scim-groups.js";
import { provisionerOf } from "./provisioner.js";
import { locationOf } from "./user-rows.js";
import { createScimUser, deleteScimUser, patchScimUser, replaceScimUser } from "./scim-users.js";
import { type Versioned, versionTag } from "./etags.js";
import { inputOf, type Input, jsonObject, required } from "../kernel/values.js";

/**
 * The result of an operation (RFC 7644 §3.7). Failed operations have a failure instead of a status, and the location of
 * the resource that they name.
 */
export interface BulkResult {
  method: string;
  bulkId?: string;
  location?: string;
  version?: string;
  status?: number;
  failure?: unknown;
}

interface BulkOperation {
  method: string;
  bulkId?: string;
  path: string;
  version?: string;
  data: Json;
}

/** A resource after a change. */
interface Changed {
  row: { id: string } & Versioned;
}

interface Verbs {
  create(ctx: Context, input: { document: Json }): Promise<Changed>;
  replace(ctx: Context, input: { id: string; document: Json; ifMatch?: string }): Promise<Changed>;
  patch(ctx: Context, input: { id: string; document: Json; ifMatch?: string }): Promise<Changed>;
  delete(ctx: Context, input: { id: string; ifMatch?: string }): Promise<string>;
}

const verbs: Readonly<Record<string, Verbs>> = {
  "/Users": {
    create: createScimUser,
    replace: replaceScimUser,
    patch: patchScimUser,
    delete: deleteScimUser,
  },
  "/Groups": {
    create: createScimGroup,
    replace: replaceScimGroup,
    patch: patchScimGroup,
    delete: deleteScimGroup,
  },
};

export const RunScimBulk = inputOf({
  document: required(jsonObject, "A BulkRequest (RFC 7644, section 3.7)."),
});
export type RunScimBulk = Input<typeof RunScimBulk>;

/**
 * Runs operations in order, each in its own transaction. `bulkId:x` stands for the id of a resource that an earlier
 * operation created. Stops after `failOnErrors` failures.
 */
export async function runScimBulk(ctx: Context, { document }: RunScimBulk): Promise<BulkResult[]> {
  provisionerOf(ctx);
  const { operations, failOnErrors } = readBulk(ctx, document);
  const created = new Map<string, string>();
  const results: BulkResult[] = [];
  let failures = 0;
  for (const operation of operations) {
    if (failures >= failOnErrors) break;
    const result = await attempt(ctx, operation, created);
    if (result.failure !== undefined) failures++;
    results.push(result);
  }
  return results;
}

function readBulk(ctx: Context, document: Json): { operations: BulkOperation[]; failOnErrors: number } {
  checkDocument(document);
  const list = member(document, "Operations");
  if (!Array.isArray(list)) throw fault("invalidSyntax", "The body must have a list of operations.", "Operations");
  const most = ctx.config.scimBulkMaxOperations;
  if (list.length > most)
    throw new DomainError("BAD_USER_INPUT", "Request body too large.", {
      detail: `A bulk request must have at most ${most} operations.`,
      tooLarge: true,
    });
  const limit = member(document, "failOnErrors");
  if (limit != null && !(Number.isInteger(limit) && (limit as number) > 0))
    throw fault("invalidValue", "Must be a whole number from 1.", "failOnErrors");
  return { operations: list.map(readOperation), failOnErrors: (limit as number | undefined) ?? Infinity };
}

function readOperation(given: unknown): BulkOperation {
  if (!isObject(given)) throw fault("invalidSyntax", "An operation must be an object.", "Operations");
  const text = (name: string): string | undefined => {
    const value = member(given, name);
    if (value != null && typeof value !== "string") throw fault("invalidSyntax", "Must be a string.", name);
    return value ?? undefined;
  };
  const data = member(given, "data") ?? {};
  if (!isObject(data)) throw fault("invalidSyntax", "Must be an object.", "data");
  const bulkId = text("bulkId");
  const version = text("version");
  return {
    method: (text("method") ?? "").toUpperCase(),
    path: text("path") ?? "",
    data,
    ...(bulkId !== undefined && { bulkId }),
    ...(version !== undefined && { version }),
  };
}

/** How often a transaction that lost against a concurrent one is tried. */
const attempts = 3;

async function attempt(ctx: Context, operation: BulkOperation, created: Map<string, string>): Promise<BulkResult> {
  const { method, bulkId } = operation;
  const named = { method, ...(bulkId !== undefined && { bulkId }) };
  for (let tried = 1; ; tried++) {
    const each = ctx.afresh();
    try {
      const done = await each.transactional(() => run(each, operation, created));
      if (method === "POST") created.set(bulkId!, done.id);
      const { id: _, ...result } = done;
      return { ...named, ...result };
    } catch (failure) {
      if (tried === attempts || !isLostRace(failure))
        return { ...named, ...targetLocation(ctx, operation, created), failure };
    }
  }
}

/** The target of a path: an endpoint, and a resource there. */
function targetOf(path: string): { endpoint: string; given?: string; verb?: Verbs } {
  const [, endpoint = "", given] = /^(\/[^/]+)(?:\/([^/]+))?\/?$/.exec(path) ?? [];
  const verb = Object.hasOwn(verbs, endpoint) ? verbs[endpoint] : undefined;
  return { endpoint, ...(given !== undefined && { given }), ...(verb && { verb }) };
}

/** The location of the resource that an operation names; none for creations, and where nothing has the `bulkId`. */
function targetLocation(ctx: Context, { path }: BulkOperation, created: ReadonlyMap<string, string>) {
  const { endpoint, given, verb } = targetOf(path);
  const id = given?.startsWith(reference) ? created.get(given.slice(reference.length)) : given;
  return verb && id !== undefined ? { location: locationOf(ctx, endpoint, encodeURIComponent(id)) } : {};
}

type Done = Required<Pick<BulkResult, "location" | "status">> & { id: string; version?: string };

async function run(ctx: Context, operation: BulkOperation, created: ReadonlyMap<string, string>): Promise<Done> {
  const { method, bulkId, version: ifMatch } = operation;
  const { endpoint, given, verb } = targetOf(operation.path);
  if (!verb) throw fault("invalidPath", `There is no endpoint ${quote(operation.path)}.`, "path");
  const document = resolveReferences(operation.data, created) as Json;
  const done = ({ row }: Changed, status: number): Done => ({
    id: row.id,
    location: locationOf(ctx, endpoint, row.id),
    version: versionTag(row),
    status,
  });
  if (method === "POST" && given === undefined) {
    if (!bulkId) throw fault("invalidSyntax", "A POST needs a bulkId.", "bulkId");
    return done(await verb.create(ctx, { document }), 201);
  }
  const id = resolveReferences(given ?? "", created) as string;
  const change = { id, document, ...(ifMatch !== undefined && { ifMatch }) };
  if (method === "PUT" && given) return done(await verb.replace(ctx, change), 200);
  if (method === "PATCH" && given) return done(await verb.patch(ctx, change), 200);
  if (method !== "DELETE" || !given)
    throw fault("invalidSyntax", `The method ${quote(method)} does not apply to this path.`, "method");
  await verb.delete(ctx, change);
  return { id, location: locationOf(ctx, endpoint, id), status: 204 };
}

/** Begins a reference to the resource that an earlier operation created. */
const reference = "bulkId:";

/** Replaces `bulkId:x` by the id of the created resource. The document is not deep: `checkDocument` saw it. */
function resolveReferences(value: unknown, created: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string" && value.startsWith(reference)) {
    const id = created.get(value.slice(reference.length));
    if (id === undefined) throw unresolvedReference(value);
    return id;
  }
  if (Array.isArray(value)) return value.map((each) => resolveReferences(each, created));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolveReferences(each, created)]));
}

const unresolvedReference = (text: string) =>
  new DomainError("CONFLICT", `No earlier operation created the resource ${quote(text)}.`);
