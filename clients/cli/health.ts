import { command, flag, text, UsageError } from "./command.js";
import { Failed } from "./failures.js";
import { HealthChecks, type HealthChecksQuery, MuteHealthCheck } from "./health.gql.js";
import { moment, words as wordsOf } from "./output.js";

type Check = HealthChecksQuery["healthChecks"][number];

const isMuted = ({ mutedUntil }: Check): boolean => mutedUntil !== null && mutedUntil > new Date().toISOString();

const needsAttention = (check: Check): boolean => check.state !== "OK" && !isMuted(check);

const show = command({
  usage: "health",
  summary:
    "Show what the deployment finds wrong with itself, and what to do. The exit status is 1 if a check has failed.",
  options: { all: flag("Also the checks that find nothing wrong, and muted ones.") },
  run: async ({ api: open, options, output }) => {
    const { healthChecks } = await (await open()).run(HealthChecks, {});
    const shown = options.all ? healthChecks : healthChecks.filter(needsAttention);
    output.list(shown, {
      CHECK: ({ code }) => code.toLowerCase(),
      STATE: (check) => wordsOf(check.state) + (isMuted(check) ? " (muted)" : ""),
      SINCE: ({ since }) => moment(since),
      FOUND: ({ finding }) => finding,
      "WHAT TO DO": ({ state, advice }) => (state === "OK" ? "" : advice),
    });
    if (healthChecks.length === 0)
      output.note("There are no results: the checks have not run yet, or are switched off.");
    else if (shown.length === 0) output.note(`${healthChecks.length} checks find nothing wrong.`);
    if (healthChecks.some((check) => check.state === "ERROR" && !isMuted(check))) process.exitCode = 1;
  },
});

const units: Record<string, number> = { h: 3_600_000, d: 86_400_000 };

/** The time after a duration such as `12h` or `7d`. */
function after(duration: string): string {
  const [, count = "", unit = ""] = /^(\d{1,4})([hd])$/.exec(duration) ?? [];
  if (unit === "") throw new UsageError("--for must be a number of hours or days, such as 12h or 7d.");
  return new Date(Date.now() + Number(count) * units[unit]!).toISOString();
}

const mute = command({
  usage: "health mute CHECK",
  summary: "Mute a check for a while: it is run, but its failures are neither counted nor told.",
  takes: [1, 1],
  options: {
    for: text("TIME", "Hours or days, at most 90 days, such as 12h or 7d. Default: 7d."),
    end: flag("Let it be heard again."),
  },
  run: async ({ api: open, words: [name = ""], options, output }) => {
    const until = options.end ? null : after(options.for ?? "7d");
    const api = await open();
    const { healthChecks } = await api.run(HealthChecks, {});
    const codes = healthChecks.map(({ code }) => code);
    if (codes.length === 0) throw new Failed("There are no results yet, or the checks are switched off.");
    const code = codes.find((each) => each.toLowerCase() === name.toLowerCase());
    if (!code) throw new UsageError(`CHECK must be one of: ${codes.map((each) => each.toLowerCase()).join(", ")}.`);
    const { healthCheck } = (await api.run(MuteHealthCheck, { input: { code, until } })).muteHealthCheck;
    output.done(
      healthCheck,
      until === null
        ? `The check ${healthCheck.title} is heard again.`
        : `The check ${healthCheck.title} is muted until ${moment(until)}.`,
    );
  },
});

/** The longer name comes first: it begins with the other one. */
export const healthCommands = { "health mute": mute, health: show };
