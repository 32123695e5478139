import type { GraphQLField } from "graphql";
import { type Need, requireScopes } from "../../domain/authorization/authorization.js";
import type { Context } from "../../domain/kernel/context.js";
import { forbidden, unauthenticated } from "../../domain/kernel/errors.js";
import { accessOf, requireChangedPassword, requireKind, rightCallerOf, takes } from "./access.js";
import type { Selection } from "./needs.js";

/** Which callers may run an operation, decided by its root fields and by what it selects below them. */
export class Admission {
  /** The scopes that the credential must cover. */
  readonly needs: readonly Need[];
  /** Whether it runs without a credential. */
  readonly open: boolean;
  /** The secrets that it could be used to guess. Such operations are counted by address and account, not by caller. */
  readonly triesSecrets: "passwords" | "tokens" | undefined;
  /** Whether only failures of such an operation are counted. */
  readonly countsFailures: boolean;
  readonly #closed: ReadonlyArray<GraphQLField<unknown, unknown>>;

  constructor({ roots, needs }: Selection) {
    this.needs = needs;
    this.#closed = [...roots].filter((field) => !accessOf(field).open);
    this.open = this.#closed.length === 0;
    const tried = [...roots].flatMap((field) => accessOf(field).tries?.secrets ?? []);
    this.triesSecrets = tried.includes("passwords") ? "passwords" : tried[0];
    this.countsFailures = tried.length > 0 && [...roots].every((field) => accessOf(field).tries?.onlyFailures);
  }

  /**
   * Throws UNAUTHENTICATED without a credential that the root fields take, and FORBIDDEN for a user who must change the
   * password first, and for a credential of the wrong kind or with too narrow scopes, before any object is looked up. `count` runs between the two (order of a request).
   */
  check(ctx: Context, count?: (ctx: Context) => void): void {
    if (!this.open) this.#authenticate(ctx);
    count?.(ctx);
    if (!this.open) this.#authorize(ctx);
  }

  #authenticate({ actor, request }: Context): void {
    if (actor.kind === "anonymous")
      throw unauthenticated(["No credential was sent.", request.unreadCredential].filter(Boolean).join(" "));
    if (this.#closed.every((field) => takes(field, actor))) return;
    const isWrongKind = actor.kind === "user" && !this.#closed.some((field) => accessOf(field).noUsers);
    throw isWrongKind ? forbidden() : unauthenticated(`The token is not valid. ${rightCallerOf(this.#closed, actor)}`);
  }

  #authorize({ actor }: Context): void {
    if (!this.#closed.every((field) => accessOf(field).changesPassword)) requireChangedPassword(actor);
    for (const field of this.#closed) requireKind(field, actor);
    if (actor.kind === "user") requireScopes(actor, this.needs);
  }
}
