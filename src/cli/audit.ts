import { migrate } from "../domain/deployment/boot.js";
import { type Verification, verifyDays } from "../domain/audit/seals.js";
import { CheckFailed, type Command, parseWords, UsageError } from "../runtime/command-line.js";
import { withServices } from "./services.js";

const limits = `It does not prove:
* that events were not changed, added, or removed before their day was sealed, minutes after its end in UTC;
* that no person with access to the database computed all seals again: compare a hash that was noted elsewhere, such as in the log of a
  server, with --seal;
* anything about events that have no number, and about days whose events are kept no longer.`;

const verifyCommand: Command = {
  usage: "server audit verify [--from DAY] [--to DAY] [--seal DAY=HASH]",
  summary: "Compare the audit log with the seals of its days.",
  options: [
    ["--from DAY", "The first day, such as 2026-01-31. Default: the first one that is sealed."],
    ["--to DAY", "The last day."],
    ["--seal DAY=HASH", "The hash of a day that was noted elsewhere. Can be repeated."],
  ],
  run: async (words) => {
    const { values } = parseWords({
      args: words,
      options: { from: { type: "string" }, to: { type: "string" }, seal: { type: "string", multiple: true } },
    });
    const { from, to, seal = [] } = values;
    for (const each of [from, to])
      if (each !== undefined && !/^\d{4}-\d\d-\d\d$/.test(each)) throw new UsageError("A day has the form 2026-01-31.");
    const pairs = seal.map((text) => /^(\d{4}-\d\d-\d\d)=([0-9a-f]{64})$/.exec(text));
    if (pairs.includes(null)) throw new UsageError("A seal has the form DAY=HASH, with 64 hexadecimal digits.");
    const known = new Map(pairs.map((pair) => [pair![1]!, pair![2]!]));
    const result = await withServices(async (services) => {
      await migrate(services);
      return verifyDays(services.database.db, { from, to, known, retention: services.config.auditRetention });
    });
    const report = reportOf(result);
    if (result.days.some(({ fault }) => fault !== null)) throw new CheckFailed(report);
    return report;
  },
};

export const auditCommands: Record<string, Command> = { "server audit verify": verifyCommand };

function reportOf({ days, unsealed }: Verification): string {
  const lines = days.map(({ seal, fault, isExpired }) => {
    const state = isExpired ? "is kept no longer" : (fault ?? "holds");
    return `${seal.day}  ${seal.hash}  ${seal.firstNumber} to ${seal.lastNumber}  ${state}`;
  });
  return [
    ...(lines.length > 0 ? lines : ["No day is sealed."]),
    `${unsealed} events have a number and no seal yet.`,
    limits,
  ].join("\n");
}
