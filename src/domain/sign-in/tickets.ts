import { databaseTime } from "../../runtime/clock.js";
import { minute } from "../../runtime/durations.js";
import { authorize, requireFullSession, requireProof } from "../authorization/authorization.js";
import type { Actor } from "../kernel/actor.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, notFound } from "../kernel/errors.js";
import { inputOf, type Input, reference, required } from "../kernel/values.js";
import type { KnownProvider } from "./provider-registry.js";
import { signInUrlOf } from "./sign-in-providers.js";

/**
 * Why a person with a session goes to a provider: to link an identity to the account, or to test the provider. A page
 * elsewhere cannot begin either: both begin with a ticket, which only an operation of the session returns.
 */
const TicketPurpose = { LINK: "link", TEST: "test" } as const;
type TicketPurpose = (typeof TicketPurpose)[keyof typeof TicketPurpose];

export interface Ticket {
  purpose: TicketPurpose;
  /** Stamp of the provider. */
  provider: string;
  userId: string;
  /** Public part of the session. */
  sessionId: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

const lifetime = 5 * minute;
const seal = "sign-in ticket";

/** The URL at which the browser of a session goes to a provider. */
export interface TicketIssued {
  url: string;
  expiresAt: string;
}

async function issue(ctx: Context, purpose: TicketPurpose, { settings, stamp }: KnownProvider): Promise<TicketIssued> {
  const caller = requireUser(ctx.actor);
  requireFullSession(caller);
  const { userId, credential } = caller;
  const expiresAt = databaseTime() + lifetime;
  const ticket: Ticket = { purpose, provider: stamp, userId, sessionId: credential.id, expiresAt };
  const text = Buffer.from(JSON.stringify(ticket)).toString("base64url");
  const query = new URLSearchParams({ ticket: await ctx.services.seals.seal(seal, text) });
  return {
    url: `${signInUrlOf(ctx, settings.name)}?${query.toString()}`,
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

/** Opens a ticket. Throws FORBIDDEN unless it is for this provider and for the session of the caller, and has not expired. */
export async function openTicket(ctx: Context, provider: KnownProvider, sealed: string): Promise<Ticket> {
  const text = await ctx.services.seals.open(seal, sealed);
  const ticket = text === undefined ? undefined : (JSON.parse(Buffer.from(text, "base64url").toString()) as Ticket);
  if (ticket?.provider !== provider.stamp || ticket.expiresAt <= databaseTime()) throw ticketEnded();
  requireHolder(ctx.actor, ticket);
  return ticket;
}

/** Throws FORBIDDEN unless the caller has the session of a ticket. */
export function requireHolder(actor: Actor, { userId, sessionId }: Ticket): void {
  const isHolder = actor.kind === "user" && actor.userId === userId && actor.credential.id === sessionId;
  if (!isHolder) throw ticketEnded();
  requireFullSession(actor);
}

const ticketEnded = () =>
  forbidden("This link has expired, or belongs to another session.", { detail: "Start again." });

export const BeginIdentityLink = inputOf({
  provider: required(reference, "Name of the provider."),
});
export type BeginIdentityLink = Input<typeof BeginIdentityLink>;

/**
 * Begins to link an identity at a provider to the account of the caller, who signs in through another one. Throws CONFLICT
 * for accounts with a password, which are converted instead.
 */
export async function beginIdentityLink(ctx: Context, { provider: name }: BeginIdentityLink): Promise<TicketIssued> {
  const { userId } = requireUser(ctx.actor);
  requireProof(ctx.actor);
  const provider = ctx.services.identityProviders.find(name);
  if (!provider?.isActive) throw notFound();
  const { loginType } = await ctx.db
    .selectFrom("users")
    .select("loginType")
    .where("id", "=", userId)
    .executeTakeFirstOrThrow();
  if (loginType !== "oidc" && loginType !== "github")
    throw conflict("This account signs in with a password. Convert it to sign in through a provider.");
  return issue(ctx, TicketPurpose.LINK, provider);
}

/**
 * Begins the test of a provider: the browser goes there and back, and sees what came and what it would do. The caller stays
 * signed in, and nothing is stored.
 */
export async function testIdentityProvider(
  ctx: Context,
  { provider: ref }: { provider: string },
): Promise<TicketIssued> {
  authorize(ctx.actor, "sign_in_provider:update");
  const { identityProviders } = ctx.services;
  const provider = identityProviders.find(ref) ?? identityProviders.withId(ref);
  if (!provider) throw notFound();
  return issue(ctx, TicketPurpose.TEST, provider);
}
