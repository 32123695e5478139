import { type Contestant, hold, usualMethod } from "../contest.js";
import type { Load } from "../load.js";
import { get } from "../requests.js";
import { type Bench, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const request = get("/healthz");
const load: Load = { connections: 16, request: () => request };

/** The bodies differ: only the costs are compared. */
const spell = () => "";

const koa: Contestant = { name: "bare Koa", start: startScript("peers/koa.ts"), load, spell };
const steward: Contestant = { name: "Steward", start: startSteward, load, spell };

/** The cost that every request has. */
export const healthBench: Bench = {
  name: "healthz",
  method: usualMethod,
  measure: (run) =>
    hold(
      {
        title: "healthz",
        contestants: [koa, steward],
        pairs: [{ of: steward.name, against: koa.name, goal: { limit: 1.8, aim: 1.4 } }],
      },
      run,
    ),
};
