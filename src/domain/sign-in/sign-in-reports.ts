import type { InferResult } from "kysely";
import { cleanLabel } from "../../runtime/text.js";
import { providerLengths } from "../../entities/sign-in.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";

/** How long another success is not stored, in milliseconds: a provider of many people is not a row of many writes. */
const interval = 60_000;

type Result = "succeeded" | "failed" | "warned";

type Change =
  | { succeededAt: typeof now }
  | { failedAt: typeof now; failure: string }
  | { warnedAt: typeof now; warning: string };

/** The reports of a process that are being stored, by provider and result, each with the one to store after it. */
interface Reporting {
  next: Map<string, Change | undefined>;
  succeededAt: Map<string, number>;
}

const processes = new WeakMap<object, Reporting>();

const reports = (db: Db) =>
  db.selectFrom("signInReports").select(["provider", "succeededAt", "failedAt", "failure", "warnedAt", "warning"]);

/** When people last signed in through a provider, and when and why that last failed. */
export type SignInReport = Omit<InferResult<ReturnType<typeof reports>>[number], "provider">;

/** Batch read of reports by the names of providers, for `ctx.load`. */
export async function reportsOf({ db }: Pick<Context, "db">, names: readonly string[]): Promise<SignInReport[]> {
  const found = await reports(db).where("provider", "=", anyOf(names, "text")).execute();
  const byName = new Map(found.map(({ provider, ...rest }) => [provider, rest]));
  return names.map(
    (name) => byName.get(name) ?? { succeededAt: null, failedAt: null, failure: "", warnedAt: null, warning: "" },
  );
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

/** Remembers that claims could not be applied. */
export const reportWarnings = (ctx: Context, provider: string, warnings: readonly string[]): void =>
  report(ctx, provider, "warned", { warnedAt: now, warning: cleanLabel(warnings.join(" "), providerLengths.failure) });

/** Stores a result in the background, one after the other; of those that wait, the last one. */
function report({ services, log }: Context, provider: string, result: Result, change: Change): void {
  const { backgroundTasks, database } = services;
  const { next, succeededAt } = reportingOf(database);
  if (result === "succeeded") {
    if (performance.now() - (succeededAt.get(provider) ?? -Infinity) < interval) return;
    succeededAt.set(provider, performance.now());
  }
  const key = `${result} ${provider}`;
  const isRunning = next.has(key);
  next.set(key, change);
  if (isRunning) return;
  try {
    backgroundTasks.run("reportSignIn", async () => {
      try {
        for (let latest = next.get(key); latest; latest = next.get(key)) {
          next.set(key, undefined);
          await store(database.db, provider, latest);
        }
      } finally {
        next.delete(key);
      }
    });
  } catch (error) {
    next.delete(key);
    log.warn({ err: error, provider }, "The result of a sign-in could not be stored.");
  }
}

function reportingOf(database: object): Reporting {
  const known = processes.get(database) ?? { next: new Map(), succeededAt: new Map() };
  processes.set(database, known);
  return known;
}

const store = (db: Db, provider: string, change: Change) =>
  db
    .insertInto("signInReports")
    .values({ provider, ...change })
    .onConflict((known) => known.column("provider").doUpdateSet(change))
    .execute();
