import { isLostRace } from "../../infrastructure/database/availability.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import type { LoginType } from "../users/users.js";

/** Counts an attempt to sign in by its method and result: `succeeded` once it is committed, `rejected`, or `failed`. */
export async function countSignIn<Result>(
  ctx: Context,
  method: LoginType,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const { signIns } = ctx.services;
  try {
    const result = await attempt();
    ctx.afterCommit(() => signIns.add(method, "succeeded"));
    return result;
  } catch (error) {
    // A transaction that lost a race is repeated.
    if (!isLostRace(error)) signIns.add(method, resultOf(error));
    throw error;
  }
}

const resultOf = (error: unknown): "rejected" | "failed" =>
  error instanceof DomainError && error.code !== "UNAVAILABLE" ? "rejected" : "failed";
