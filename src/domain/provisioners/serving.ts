import { randomBytes } from "node:crypto";
import { authorize, requireScope } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { type ProvisionerActor, requireUser } from "../kernel/actor.js";
import type { Context, Services } from "../kernel/context.js";
import { notFound, Problems, quote } from "../kernel/errors.js";
import { invalidQuery } from "../kernel/paging.js";
import { cleanLabel } from "../../runtime/text.js";
import { findAnyOrganization, findOrganization } from "../organizations/organizations.js";
import { protocolVersion, registerDaemon } from "./daemon-registration.js";
import { scopeTags, tagProblem } from "./tags.js";
import { daemonNameProblem, isReservedKey, type ProvisionerKeyHolder } from "./provisioner-key-tokens.js";

/** The parameters with which a daemon connects. */
export interface ServeRequest {
  /** An id, a name, or `default`. */
  organization: string;
  provisioners: readonly string[];
  name?: string;
  /** Each `key=value`. */
  tags: readonly string[];
  /** The version of the protocol. Default: 1.0. */
  version?: string;
  /** The version of its program. */
  buildVersion?: string;
}

const mostProvisioners = 10;

/**
 * Admits a daemon, with the key that it sent or else for the user of the request. Every rejection happens here. Throws
 * NOT_FOUND for a key of another organization, FORBIDDEN without the permission or the license.
 */
export async function admitDaemon(
  ctx: Context,
  key: ProvisionerKeyHolder | undefined,
  request: ServeRequest,
): Promise<ProvisionerActor> {
  const given = readTags(request.tags);
  const organizationId = await (key ? organizationOfKey(ctx, key, request) : organizationOfUser(ctx, request, given));
  requireFeature(ctx, "external_provisioner_daemons");
  const problems = new Problems();
  checkProvisioners(request.provisioners, problems);
  const name = request.name || `daemon-${randomBytes(4).toString("hex")}`;
  problems.add("name", isReservedKey(name) ? "This name is reserved." : daemonNameProblem(name));
  problems.add("tag", key && request.tags.length > 0 ? "Is set by the key." : given.problem);
  const version = request.version || `${protocolVersion.major}.${protocolVersion.minor}`;
  problems.add("version", versionProblem(version));
  problems.throwIfAny(invalidQuery);
  const user = key ? null : requireUser(ctx.actor);
  return registerDaemon(ctx.services, {
    organizationId,
    name,
    provisioners: [...new Set(request.provisioners)],
    tags: key ? scopeTags(key.tags, "") : scopeTags(given.tags, user!.userId),
    keyId: key?.id ?? null,
    tokenHash: key?.tokenHash ?? "",
    user,
    version: cleanLabel(request.buildVersion ?? "", 64),
    apiVersion: version,
  });
}

async function organizationOfKey(
  ctx: Context,
  { organizationId }: ProvisionerKeyHolder,
  { organization: ref }: ServeRequest,
): Promise<string> {
  const organization = await findAnyOrganization(ctx, ref);
  if (organization?.id !== organizationId) throw notFound();
  return organizationId;
}

async function organizationOfUser(
  ctx: Context,
  { organization: ref }: ServeRequest,
  { tags }: GivenTags,
): Promise<string> {
  requireScope(ctx.actor, "provisioner_daemon:create");
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorizeServing({ user: requireUser(ctx.actor), organizationId, tags });
  return organizationId;
}

/** Throws FORBIDDEN unless the user of a daemon may connect it. A key is a permission of its own. */
export function authorizeServing({ user, organizationId, tags }: ServingDaemon): void {
  const daemonScope = tags.scope === "user" ? "user" : "organization";
  if (user) authorize(user, "provisioner_daemon:create", { organizationId, daemonScope });
}

type ServingDaemon = Pick<ProvisionerActor, "user" | "organizationId" | "tags">;

/**
 * The condition of everything that a daemon does, and of its socket. Rejects with UNAUTHENTICATED once its key or the
 * session of its user has ended, and with FORBIDDEN once the user may not connect it any more.
 */
export async function requireServing(
  { credentials }: Pick<Services, "credentials">,
  daemon: ProvisionerActor,
): Promise<void> {
  authorizeServing((await credentials.renew(daemon)) as ProvisionerActor);
}

const provisionerPattern = /^[a-z][a-z0-9-]{0,31}$/;

function checkProvisioners(provisioners: readonly string[], problems: Problems): void {
  const isCount = provisioners.length > 0 && provisioners.length <= mostProvisioners;
  const isFormed = provisioners.every((each) => provisionerPattern.test(each));
  const rule = `Must be given 1 to ${mostProvisioners} times.`;
  problems.add("provisioner", isCount ? undefined : rule);
  if (isCount && !isFormed)
    problems.add("provisioner", "Must be 1 to 32 lower-case letters, digits and hyphens, a letter first.");
}

interface GivenTags {
  tags: Record<string, string>;
  problem: string | undefined;
}

const mostTags = 20;

function readTags(texts: readonly string[]): GivenTags {
  const tags: Record<string, string> = {};
  let problem = texts.length > mostTags ? `Must be given at most ${mostTags} times.` : undefined;
  for (const text of texts.slice(0, mostTags)) {
    const [, key, value] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (key === undefined || value === undefined) problem ??= `Must have the form key=value: ${quote(text)}.`;
    else {
      problem ??= key === "owner" ? "The tag owner is set by the server." : tagProblem(key, value);
      if (key === "scope" && value !== "user" && value !== "organization")
        problem ??= "The tag scope must be user or organization.";
      if (Object.hasOwn(tags, key)) problem ??= "Must name each key once.";
      if (problem === undefined) tags[key] = value;
    }
  }
  return { tags, problem };
}

function versionProblem(version: string): string | undefined {
  const [, major, minor] = /^(\d{1,4})\.(\d{1,4})$/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return "Must have the form major.minor.";
  const isSpoken = Number(major) === protocolVersion.major && Number(minor) <= protocolVersion.minor;
  return isSpoken ? undefined : `The server speaks version ${protocolVersion.major}.${protocolVersion.minor}.`;
}
