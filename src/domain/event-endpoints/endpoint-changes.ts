import { randomBytes } from "node:crypto";
import { sql, type SqlBool } from "kysely";
import { EventEndpoint } from "../../entities/event-endpoints.js";
import { longestLabel } from "../../entities/lengths.js";
import { localNames } from "../../infrastructure/http.js";
import { newWebhookSecret } from "../../infrastructure/webhook-signatures.js";
import { day } from "../../runtime/durations.js";
import { lastNumbers } from "../audit/numbering.js";
import { requireProofFor } from "../authorization/authorization.js";
import { endpointSecrets } from "../encryption/columns.js";
import { auditChangesOf, auditedAs, auditWith } from "../kernel/audit.js";
import { requireUser } from "../kernel/actor.js";
import { changesOf, pickGiven } from "../kernel/changed-fields.js";
import type { Context } from "../kernel/context.js";
import { conflict, conflictOn, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import {
  check,
  flag,
  further,
  httpUrl,
  type Input,
  inputOf,
  label,
  list,
  nonEmpty,
  optional,
  reference,
  required,
  textBy,
  uuid,
} from "../kernel/values.js";
import { lockOrganization } from "../organizations/organizations.js";
import {
  endpointsHint,
  type EventEndpointRow,
  type EventEndpointSecretRow,
  lockEventEndpoint,
  requireMaker,
} from "./event-endpoints.js";
import { isTypeFilter } from "./event-types.js";

/** Maximum number of endpoints of an organization. */
const mostEndpoints = 20;

/** Maximum number of secrets of an endpoint. */
const mostSecrets = 5;

/** Milliseconds for which an event is tried again, and after which an endpoint that only fails is disabled. */
export const triedFor = 3 * day;

/** Loopback hosts may be called without TLS: nothing leaves the machine. The operator has to allow them. */
const isOnThisMachine = (host: string) => localNames.test(host) || /^(127(\.\d{1,3}){3}|\[::1\])$/.test(host);

const endpointUrl = further(httpUrl, (given) => {
  if (!URL.canParse(given)) return undefined;
  const { protocol, hostname, hash } = new URL(given);
  if (hash !== "") return "Must have no fragment.";
  return protocol === "https:" || isOnThisMachine(hostname) ? undefined : "Must be an https URL.";
});

const typeFilter = textBy((given) =>
  isTypeFilter(given) ? undefined : "Must be a type of events, or all of a resource, such as `group.*`.",
);

const endpointName = nonEmpty(label(longestLabel));
const typeFilters = list(100, typeFilter, "types");

const urlWords = "It may be on this machine without TLS, where the operator allows such addresses.";
const typeWords =
  "The events that it receives: types such as `group.update`, or all of a resource, such as `group.*`; {limits}.";
const thinWords = "Whether its events have no names and no changes, only IDs.";

const idField = required(uuid, "ID of the endpoint.");

export const CreateEventEndpoint = inputOf({
  organization: required(reference, "Organization whose events it receives: ID, name, or `default`."),
  name: required(endpointName, "Unique in the organization: {limits}."),
  url: required(endpointUrl, `The https URL that events are posted to. ${urlWords}`),
  eventTypes: optional(typeFilters, `${typeWords} Default: all.`),
  isThin: optional(flag, `${thinWords} Default: false.`),
});
export type CreateEventEndpoint = Input<typeof CreateEventEndpoint>;

/** Creates an endpoint, which receives what is recorded from now on. Returns its secret, which cannot be read again. */
export async function createEventEndpoint(
  ctx: Context,
  { organization: ref, ...fields }: CreateEventEndpoint,
): Promise<{ id: string; secret: string }> {
  const { id: organization } = await lockOrganization(ctx, ref, "event_endpoint:create");
  requireProofFor(ctx.actor, "event_endpoint:create");
  requireMaker(ctx, organization);
  const problems = new Problems();
  check(CreateEventEndpoint, fields, problems);
  problems.throwIfAny();
  await requireRoom(ctx, organization);
  const { userId: makerId } = requireUser(ctx.actor);
  const { lastNumber: position, lastNotified: notifiedPosition } = await lastNumbers(ctx);
  const endpoint = ctx.em.create(EventEndpoint, {
    ...pickGiven(fields),
    name: fields.name,
    url: fields.url,
    organization,
    makerId,
    position,
    notifiedPosition,
  });
  auditWith(endpoint, { host: { new: new URL(fields.url).host } });
  await ctx.em.flush().catch(onNameTaken);
  const { text } = await addSecret(ctx, endpoint.id);
  return { id: endpoint.id, secret: text };
}

/** Throws CONFLICT if a locked organization has as many endpoints as it may have. */
async function requireRoom(ctx: Context, organizationId: string): Promise<void> {
  const { count } = await ctx.db
    .selectFrom("eventEndpoints")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organizationId", "=", organizationId)
    .executeTakeFirstOrThrow();
  if (count >= mostEndpoints) throw conflict(`An organization can have at most ${mostEndpoints} event endpoints.`);
}

export const UpdateEventEndpoint = inputOf({
  id: idField,
  name: optional(endpointName, "New name, unique in the organization: {limits}."),
  url: optional(endpointUrl, `New https URL. ${urlWords}`),
  eventTypes: optional(typeFilters, `${typeWords} Empty for all.`),
  isThin: optional(flag, thinWords),
  paused: optional(
    flag,
    "True pauses it: its events wait. False resumes it, whatever stopped it: it receives what waits, and what was recorded in the last three days.",
  ),
});
export type UpdateEventEndpoint = Input<typeof UpdateEventEndpoint>;

/** Changes an endpoint. From then on, it has the rights of the caller. */
export async function updateEventEndpoint(
  ctx: Context,
  { id, paused, ...fields }: UpdateEventEndpoint,
): Promise<string> {
  const endpoint = await lockEventEndpoint(ctx, id, "event_endpoint:update");
  requireMaker(ctx, endpoint.organizationId);
  const problems = new Problems();
  check(UpdateEventEndpoint, fields, problems);
  problems.throwIfAny();
  const changes = changesOf(endpoint, fields);
  // Elsewhere, it is like a new one.
  if (changes.url !== undefined) requireProofFor(ctx.actor, "event_endpoint:create");
  const isResumed = paused === false && endpoint.state !== "active";
  const { userId: makerId } = requireUser(ctx.actor);
  const stored = await ctx.em.findOneOrFail(EventEndpoint, id);
  ctx.em.assign(stored, { ...changes, makerId });
  if (paused === true) stored.state = "paused";
  if (isResumed) Object.assign(stored, { state: "active", failures: 0, failingSince: null, lastFailure: "" });
  if (changes.url !== undefined)
    auditWith(stored, { host: { old: new URL(endpoint.url).host, new: new URL(changes.url).host } });
  await ctx.em.flush().catch(onNameTaken);
  if (isResumed) await resume(ctx, id);
  ctx.publish(endpointsHint);
  return id;
}

/** Lets an endpoint go on with what waits, and with the last events that were not queued. */
async function resume(ctx: Context, id: string): Promise<void> {
  const [before, notifiedBefore] = (["auditNumbers", "notifiedEvents"] as const).map((table) =>
    ctx.db
      .selectFrom(table)
      .select("number")
      .where("numberedAt", "<=", after(-triedFor))
      .orderBy("numberedAt", "desc")
      .orderBy("number", "desc")
      .limit(1),
  );
  await ctx.db
    .updateTable("eventEndpoints")
    .set((eb) => ({
      position: sql<number>`greatest(${eb.ref("position")}, (${before}))`,
      notifiedPosition: sql<number>`greatest(${eb.ref("notifiedPosition")}, (${notifiedBefore}))`,
      feedAt: now,
    }))
    .where("id", "=", id)
    .execute();
  await ctx.db
    .updateTable("eventDeliveries")
    .set({ failures: 0, nextAttemptAt: now, expiresAt: after(triedFor) })
    .where("endpointId", "=", id)
    .where("state", "=", "pending")
    .execute();
}

export const DeleteEventEndpoint = inputOf({ id: idField });
export type DeleteEventEndpoint = Input<typeof DeleteEventEndpoint>;

/** Deletes an endpoint with its secrets and its log. Returns the endpoint before the deletion. */
export async function deleteEventEndpoint(ctx: Context, { id }: DeleteEventEndpoint): Promise<EventEndpointRow> {
  const endpoint = await lockEventEndpoint(ctx, id, "event_endpoint:delete");
  // In the order in which results of attempts lock them.
  await ctx.db
    .selectFrom("eventDeliveries")
    .select("id")
    .where("endpointId", "=", id)
    .where(sql<SqlBool>`state = 'leased'`)
    .orderBy("id")
    .forUpdate()
    .execute();
  ctx.em.remove(await ctx.em.findOneOrFail(EventEndpoint, id));
  return endpoint;
}

export const CreateEventEndpointSecret = inputOf({ endpoint: idField });
export type CreateEventEndpointSecret = Input<typeof CreateEventEndpointSecret>;

/** Adds a secret to an endpoint, which signs beside the others. Returns its text, which cannot be read again. */
export async function createEventEndpointSecret(
  ctx: Context,
  { endpoint: id }: CreateEventEndpointSecret,
): Promise<{ secret: EventEndpointSecretRow; text: string }> {
  const endpoint = await lockEventEndpoint(ctx, id, "event_endpoint:update");
  requireMaker(ctx, endpoint.organizationId);
  if ((await secretCount(ctx, id)) >= mostSecrets)
    throw conflict(`An event endpoint can have at most ${mostSecrets} secrets.`);
  const added = await addSecret(ctx, id);
  ctx.audit({ action: "update", ...ofEndpoint(endpoint), diff: { secret: { new: "***" } } });
  return added;
}

async function secretCount(ctx: Context, endpointId: string): Promise<number> {
  const { count } = await ctx.db
    .selectFrom("eventEndpointSecrets")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("endpointId", "=", endpointId)
    .executeTakeFirstOrThrow();
  return count;
}

async function addSecret(ctx: Context, endpointId: string): Promise<{ secret: EventEndpointSecretRow; text: string }> {
  const id = newId();
  const text = newWebhookSecret(randomBytes(32));
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(
    endpointSecrets.place({ id, ownerId: endpointId }),
    text,
  );
  const secret = await ctx.db
    .insertInto("eventEndpointSecrets")
    .values({
      id,
      endpointId,
      createdAt: now,
      suffix: text.slice(-4),
      keyId,
      secretNonce: nonce,
      secretCiphertext: ciphertext,
    })
    .returning(["id", "endpointId", "createdAt", "suffix"])
    .executeTakeFirstOrThrow();
  return { secret, text };
}

export const DeleteEventEndpointSecret = inputOf({
  endpoint: idField,
  id: required(uuid, "ID of the secret."),
});
export type DeleteEventEndpointSecret = Input<typeof DeleteEventEndpointSecret>;

/** Deletes a secret of an endpoint that has another one. Returns the id of the endpoint. */
export async function deleteEventEndpointSecret(
  ctx: Context,
  { endpoint: endpointRef, id }: DeleteEventEndpointSecret,
): Promise<string> {
  const endpoint = await lockEventEndpoint(ctx, endpointRef, "event_endpoint:update");
  const secrets = ctx.db.deleteFrom("eventEndpointSecrets").where("endpointId", "=", endpoint.id).where("id", "=", id);
  const count = await secretCount(ctx, endpoint.id);
  const { numDeletedRows } = await secrets.executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw notFound();
  if (count === 1) throw conflict("The last secret of an event endpoint cannot be deleted.");
  ctx.audit({ action: "update", ...ofEndpoint(endpoint), diff: { secret: { old: "***" } } });
  return endpoint.id;
}

/** An endpoint as the resource of an audit event. */
export const ofEndpoint = ({ id, name, organizationId }: Pick<EventEndpointRow, "id" | "name" | "organizationId">) =>
  auditedAs("event_endpoint", id, name, organizationId);

// The URL may be a secret by itself: the log has its host.
auditChangesOf(EventEndpoint, {
  resource: ({ id, organization }, before) => auditedAs("event_endpoint", id, before("name"), organization.id),
  fields: ["name", "eventTypes", "isThin", "state", "makerId"],
  secrets: { url: "url" },
});

const onNameTaken = onViolation({
  event_endpoints_name_unique: () => conflictOn("name", "Is the name of another event endpoint of the organization."),
});
