import { email, password, withPasswords } from "../accounts.js";
import { judgeWithin, type Row } from "../report.js";
import type { Bench, Run } from "../run.js";
import { median, rankTest } from "../statistics.js";
import { startSteward } from "../steward.js";

/** Attempts of each kind; those of a quick run are too few for a verdict. */
const samples = (run: Run) => (run.rounds > 2 ? 500 : 100);

/** Each attempt has an account of its own, so that no limit counts two of them. */
const most = 500;

/** Kinds of accounts with a wrong password. All email addresses have the same length. */
const kinds = {
  "wrong password": { first: 1_000, email },
  suspended: { first: 2_000, email },
  "provider only": { first: 3_000, email },
  unknown: { first: 4_000, email: (nr: number) => `none-${nr}@example.com` },
};

type Kind = keyof typeof kinds;

const changes = [
  { first: 2_000, last: 2_000 + most, set: "status = 'suspended'" },
  { first: 3_000, last: 3_000 + most, set: "password_hash = null, login_type = 'oidc'" },
];

/** Milliseconds of each attempt, with the kinds in turn. */
async function tries(run: Run): Promise<Record<Kind, number[]>> {
  await using server = await startSteward(run);
  const times: Record<Kind, number[]> = { "wrong password": [], suspended: [], "provider only": [], unknown: [] };
  const url = new URL("/api/v2/users/login", server.url);
  const headers = { "Content-Type": "application/json" };
  const names = Object.keys(kinds) as Kind[];
  for (let nr = -50; nr < samples(run); nr++) {
    // Another kind goes first each time, so that none always follows the same one.
    for (const turn of names.keys()) {
      const kind = names[(turn + nr + 50) % names.length]!;
      const body = JSON.stringify({
        email: kinds[kind].email(kinds[kind].first + Math.abs(nr)),
        password: `${password}!`,
      });
      const begun = performance.now();
      const response = await fetch(url, { method: "POST", headers, body });
      await response.text();
      if (response.status !== 401) throw new Error(`${kind}: ${response.status}`);
      if (nr >= 0) times[kind].push(performance.now() - begun);
    }
  }
  return times;
}

/** Whether the time of a rejection reveals its reason: ideally, the AUC of every two kinds is a half. */
export const loginTimingBench: Bench = {
  name: "login-timing",
  measure: (run) =>
    withPasswords(run.databaseUrl, changes, async (): Promise<Row[]> => {
      run.progress("login timing");
      const times = await tries(run);
      const { "wrong password": wrong, ...others } = times;
      const bench = "login timing";
      return [
        { bench, what: "wrong password", cost: `${median(wrong).toFixed(2)} ms` },
        ...Object.entries(others).map(([what, own]) => {
          const auc = rankTest(own, wrong);
          return {
            bench,
            what: `${what} vs wrong password`,
            cost: `${median(own).toFixed(2)} ms, AUC ${auc.toFixed(3)}`,
            ...judgeWithin(auc, 0.45, 0.55),
          };
        }),
      ];
    }),
};
