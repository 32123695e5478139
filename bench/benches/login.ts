import { availableParallelism } from "node:os";
import { email, password, withPasswords } from "../accounts.js";
import { members } from "../data.js";
import { LoadGenerator } from "../load.js";
import { ServerProcess } from "../process.js";
import { judgeWithin, type Row, showRatios } from "../report.js";
import { request } from "../requests.js";
import type { Bench, Run } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";

/** The number of hashes that Steward computes concurrently by default. */
export const hashesAtOnce = Math.max(1, Math.floor(availableParallelism() / 2));

const connections = 16;

/** A sign-in mostly consists of its hash: Steward must reach this share of what the machine can hash. */
const least = 0.85;

const asked = Array.from({ length: members }, (_, nr) =>
  request("POST", "/api/v2/users/login", { body: { email: email(nr + 1), password } }),
);

/** Passwords verified per second by a loop that does nothing else. */
export async function bareLoop({ databaseUrl, measure }: Run): Promise<number> {
  const env = { BENCH_DATABASE_URL: databaseUrl, BENCH_HASHES_AT_ONCE: String(hashesAtOnce) };
  await using server = await ServerProcess.start({ script: "floors/argon2.ts", env });
  const response = await fetch(new URL(`/${measure}`, server.url));
  return ((await response.json()) as { perSecond: number }).perSecond;
}

async function logins(run: Run): Promise<number> {
  await using server = await startSteward(run);
  const load = {
    connections,
    request: (connection: number, nth: number) => asked[(nth * connections + connection) % members]!,
  };
  using generator = await LoadGenerator.open(server.url, load);
  await generator.run(run.warmUp / 4);
  const { requests, seconds } = await generator.run(run.measure);
  return requests / seconds;
}

/** Sign-ins with the right password: check, session, audit event. */
export const loginBench: Bench = {
  name: "login",
  measure: (run) =>
    withPasswords(run.databaseUrl, [], async (): Promise<Row[]> => {
      const rounds: Array<{ bare: number; steward: number }> = [];
      for (let nr = 1; nr <= run.rounds; nr++) {
        run.progress(`login: round ${nr} of ${run.rounds}`);
        rounds.push({ bare: await bareLoop(run), steward: await logins(run) });
      }
      const ratios = rounds.map(({ bare, steward }) => steward / bare);
      return [
        { bench: "login", what: "bare argon2 loop", perSecond: median(rounds.map(({ bare }) => bare)) },
        { bench: "login", what: "Steward REST", perSecond: median(rounds.map(({ steward }) => steward)) },
        {
          bench: "login",
          what: "logins of what the loop verifies",
          cost: showRatios(ratios),
          ...judgeWithin(median(ratios), least, Infinity),
        },
      ];
    }),
};
