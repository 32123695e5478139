import { hold } from "../contest.js";
import { ids, ownerToken } from "../data.js";
import type { Load } from "../load.js";
import { get } from "../requests.js";
import { type Bench, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const asked = get(`/api/v2/groups/${ids.largeGroup}`, ownerToken());
const load: Load = { connections: 16, request: () => asked };

const plain = { name: "plain node:http + pg", start: startScript("floors/read-group-with-members.ts"), load };
const steward = { name: "Steward REST", start: startSteward, load };

/** 50 rows: the case where reading and writing JSON costs the most. */
export const readGroupWithMembersBench: Bench = {
  name: "read-group-with-members",
  measure: (run) =>
    hold(
      {
        title: "read a group with 50 members",
        contestants: [plain, steward],
        pairs: [{ of: steward.name, against: plain.name, goal: { limit: 2, aim: 1.5 } }],
      },
      run,
    ),
};
