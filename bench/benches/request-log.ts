import { type Contestant, hold } from "../contest.js";
import { ids, ownerToken } from "../data.js";
import { get } from "../requests.js";
import type { Bench } from "../run.js";
import { startSteward } from "../steward.js";

const request = get(`/api/v2/groups/${ids.smallGroup}?exclude_members=true`, ownerToken());

const contestant = (name: string, share: string): Contestant => ({
  name,
  start: (run) => startSteward(run, { STEWARD_REQUEST_LOG: share }),
  load: { connections: 16, request: () => request },
});

/** The cost that a line of the log adds to a small request. */
export const requestLogBench: Bench = {
  name: "request-log",
  measure: (run) =>
    hold(
      {
        title: "log a request",
        contestants: [contestant("logged", "on"), contestant("not logged", "off")],
        pairs: [{ of: "logged", against: "not logged", goal: { limit: 1.05, aim: 1.03 } }],
      },
      run,
    ),
};
