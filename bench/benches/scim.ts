import { measureCost, total } from "../cost.js";
import { ownerToken } from "../data.js";
import { type Load, LoadGenerator } from "../load.js";
import { type Goal, judge, type Row } from "../report.js";
import { graphql, request } from "../requests.js";
import type { ServerProcess } from "../process.js";
import { type Bench, type Run, startScript } from "../run.js";
import { startSteward } from "../steward.js";

const connections = 16;

/** Users of the identity provider. */
const users = 10_000;

const plenty = "1000000000";
const startProvisioned = (run: Run) => startSteward(run, { STEWARD_SCIM_RATE_LIMIT: plenty });

const document = (nr: number) => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  externalId: `ext-${nr}`,
  userName: `person-${nr}@corp.example`,
  name: { givenName: "Ada", familyName: `Number ${nr}` },
  displayName: `Ada Number ${nr}`,
  title: "Engineer",
  emails: [{ value: `person-${nr}@corp.example`, type: "work", primary: true }],
  active: true,
});

/** Every user once: a connection takes the next one each time. */
function each(spell: (nr: number) => string, received?: Load["received"]): Load {
  let next = 0;
  return { connections, request: () => spell(next++), ...(received && { received }) };
}

interface Pass {
  perSecond: number;
  cost: string;
}

async function pass({ postgres }: Run, server: ServerProcess, load: Load): Promise<Pass> {
  using generator = await LoadGenerator.open(server.url, load);
  const stop = measureCost(server, postgres);
  const { requests, seconds } = await generator.run(Infinity, users);
  const cost = stop(requests);
  const parts = `${cost.server.toFixed(0)} + ${cost.postgres.toFixed(0)}`;
  return { perSecond: requests / seconds, cost: `${total(cost).toFixed(0)} µs CPU (${parts})` };
}

/** Creates the key of an identity provider, as the owner. */
async function keyFor(server: ServerProcess): Promise<string> {
  const mutation = "mutation($input: CreateScimKeyInput!) { createScimKey(input: $input) { secret } }";
  const asked = graphql(mutation, { input: { name: "Bench", source: "bench" } }, ownerToken());
  using generator = await LoadGenerator.open(server.url, { connections: 1, request: () => asked });
  const [body] = await generator.each();
  return (JSON.parse(body!) as { data: { createScimKey: { secret: string } } }).data.createScimKey.secret;
}

const goals = { created: { limit: 6, aim: 3 }, unchanged: { limit: 1.5, aim: 1 } };

/** How long an identity provider takes to provision its users. */
export const scimBench: Bench = {
  name: "scim",
  method: `An identity provider with a key of its own and ${connections} connections provisions 10,000 users, each request once: it looks
each one up by userName, creates it, looks it up again, and replaces it by what it already is. FW is one durable insert per
request by node:http. Server, load and Postgres share the machine over loopback. Costs are CPU per request of the server process
and of all processes of the Postgres cluster. A ratio says how many times as long the pass takes as that of FW.`,
  async measure(run) {
    const rows: Row[] = [];
    const row = (what: string, { perSecond, cost }: Pass, goal?: Goal) => {
      const ratio = floor.perSecond / perSecond;
      const verdict = goal ? { ratio: `${ratio.toFixed(2)} ×`, ...judge(ratio, goal, "×") } : {};
      rows.push({ bench: "SCIM sync", what, perSecond, cost, ...verdict });
      run.progress(`scim: ${what}: ${perSecond.toFixed(0)} users per second`);
    };
    await using floorServer = await startScript("floors/insert.ts")(run);
    const insert = request("POST", "/", { body: document(0) });
    const floor = await pass(
      run,
      floorServer,
      each(() => insert),
    );
    row("FW, one insert", floor);

    await using server = await startProvisioned(run);
    const bearer = await keyFor(server);
    const find = (nr: number) =>
      request("GET", `/scim/v2/Users?filter=userName%20eq%20%22person-${nr}@corp.example%22`, { bearer });
    const ids = new Map<number, string>();
    const received = (_: number, body: string) => {
      const { id, userName } = JSON.parse(body) as { id: string; userName: string };
      ids.set(Number(/\d+/.exec(userName)![0]), id);
    };
    const create = (nr: number) => request("POST", "/scim/v2/Users", { bearer, body: document(nr) });
    const replace = (nr: number) => request("PUT", `/scim/v2/Users/${ids.get(nr)}`, { bearer, body: document(nr) });
    row("lookups of unknown users", await pass(run, server, each(find)));
    row("creations of 10,000 users", await pass(run, server, each(create, received)), goals.created);
    row("lookups of known users", await pass(run, server, each(find)));
    row("replacements of 10,000 unchanged users", await pass(run, server, each(replace)), goals.unchanged);
    return rows;
  },
};
