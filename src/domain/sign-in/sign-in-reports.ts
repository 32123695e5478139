import type { InferResult } from "kysely";
import { cleanLabel } from "../../runtime/text.js";
import { providerLengths } from "../../entities/sign-in.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";

/** How long a result is not stored again, in milliseconds: a provider of many people is not a row of many writes. */
const interval = { succeeded: 60_000, failed: 1_000 } as const;

type Result = keyof typeof interval;

/** When this process last stored a result, by provider and result. There are as many as providers. */
const storedAt = new Map<string, number>();

const reports = (db: Db) => db.selectFrom("signInReports").select(["provider", "succeededAt", "failedAt", "failure"]);

/** When people last signed in through a provider, and when and why that last failed. */
export type SignInReport = Omit<InferResult<ReturnType<typeof reports>>[number], "provider">;

/** Batch read of reports by the names of providers, for `ctx.load`. */
export async function reportsOf({ db }: Pick<Context, "db">, names: readonly string[]): Promise<SignInReport[]> {
  const found = await reports(db).where("provider", "=", anyOf(names, "text")).execute();
  const byName = new Map(found.map(({ provider, ...rest }) => [provider, rest]));
  return names.map((name) => byName.get(name) ?? { succeededAt: null, failedAt: null, failure: "" });
}

/** Remembers that a person signed in, without the transaction and the time of the sign-in. */
export const reportSuccess = (ctx: Context, provider: string): void =>
  report(ctx, provider, "succeeded", { succeededAt: now });

/** Remembers why a sign-in failed, in the words that the person was shown, and the reason for operators if there is one. */
export function reportFailure(ctx: Context, provider: string, error: unknown): void {
  if (!(error instanceof DomainError)) return;
  const { detail } = error.details;
  const reason = error.cause instanceof Error && error.code === "UNAVAILABLE" ? error.cause.message : undefined;
  const text = [error.message, detail ?? reason].filter(Boolean).join(" ");
  report(ctx, provider, "failed", { failedAt: now, failure: cleanLabel(text, providerLengths.failure) });
}

function report(
  { services: { backgroundTasks, database }, log }: Context,
  provider: string,
  result: Result,
  change: { succeededAt: typeof now } | { failedAt: typeof now; failure: string },
): void {
  const key = `${result} ${provider}`;
  const at = performance.now();
  if (at - (storedAt.get(key) ?? -Infinity) < interval[result]) return;
  storedAt.set(key, at);
  try {
    backgroundTasks.run("reportSignIn", async () => {
      await database.db
        .insertInto("signInReports")
        .values({ provider, ...change })
        .onConflict((known) => known.column("provider").doUpdateSet(change))
        .execute();
    });
  } catch (error) {
    log.warn({ err: error, provider }, "The result of a sign-in could not be stored.");
  }
}
