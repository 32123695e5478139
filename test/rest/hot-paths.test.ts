// What is requested most often takes no more SQL statements than it does now.
// Looks inside: counts statements.
import { expect } from "chai";
import { start } from "../support/agents.js";
import { withClock } from "../support/clock.js";
import { newScimUser, scimClient } from "../support/scim.js";
import { credentials, makeClient, makeCode, redeem, refresh, sendForm } from "../support/oauth2.js";
import { carryOut, newKey, queueImports, serve } from "../support/provisioners.js";
import { allStatementsOf, executedBy } from "../support/statements.js";
import { type Answer, type World, world } from "../support/world.js";

/**
 * The statements of each path, those that load an unknown caller included; BEGIN and COMMIT are not counted. Lower a number when
 * its path takes fewer. Raise one only for something that is worth it to those who wait for the path, and name it in the
 * commit: each statement costs server and Postgres together 50 to 200 µs.
 */
const most = {
  "GET /healthz": 0,
  "client credentials": 1,
  "refresh of a token": 2,
  "introspection of a token": 1,
  "a session that the server does not know yet": 1,
  "a group by REST": 2,
  "a page of users": 1,
  "a page of an inbox": 2,
  "a custom notification": 4,
  "creation of a user by SCIM": 7,
  "lookup of a user by SCIM": 2,
  "a heartbeat of an agent": 2,
  "a job that a daemon takes": 4,
};
type Path = keyof typeof most;

/** Sends a request. Rejects if it fails. */
type Send = () => Promise<unknown>;

const ok = (answer: Answer): Answer => {
  if (answer.status >= 400) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
};

/** An application with an access and a refresh token of a user. */
async function issued(w: World) {
  const client = await makeClient(w);
  const { code } = await makeCode(w, client, w.owner);
  const { body } = ok(await redeem(w, client, code));
  return { client, access: body.access_token as string, refreshToken: body.refresh_token as string };
}

const notifyOwner = async (w: World) =>
  ok(await w.as(w.owner).post("/api/v2/notifications/custom", { content: { title: "A", message: "B" } }));

/** Sends a request for the first time: what the server remembers for a second, it knows then. */
async function warm(send: Send): Promise<Send> {
  await send();
  return send;
}

/** Makes the request of a path. */
const requests: Record<Exclude<Path, "a job that a daemon takes">, (w: World) => Promise<Send>> = {
  "GET /healthz": async (w) => async () => ok(await w.nobody.get("/healthz")),
  async "client credentials"(w) {
    const { createUser } = await w.as(w.owner).graphql(
      `mutation { createUser(input: { username: "robot", email: "robot@example.com", isServiceAccount: true }) {
         user { id } } }`,
    );
    const client = await makeClient(w, { service_user_id: createUser.user.id });
    const form = { grant_type: "client_credentials", ...credentials(client) };
    return warm(async () => ok(await sendForm(w, "tokens", form)));
  },
  async "refresh of a token"(w) {
    const { client, refreshToken } = await issued(w);
    return async () => ok(await refresh(w, client, refreshToken));
  },
  async "introspection of a token"(w) {
    const { client, access } = await issued(w);
    return async () => {
      const { body } = ok(await sendForm(w, "introspect", { ...credentials(client), token: access }));
      expect(body.active).to.equal(true);
    };
  },
  async "a session that the server does not know yet"(w) {
    const person = await w.user("stranger");
    return async () => ok(await w.as(person).get("/api/v2/auth/scopes"));
  },
  async "a group by REST"(w) {
    const { id } = await w.group();
    return warm(async () => ok(await w.as(w.owner).get(`/api/v2/groups/${id}`)));
  },
  "a page of users": (w) =>
    warm(() => w.as(w.owner).graphql("{ users(first: 50) { nodes { id username email status roles { name } } } }")),
  async "a page of an inbox"(w) {
    await notifyOwner(w);
    return warm(async () => ok(await w.as(w.owner).get("/api/v2/notifications/inbox")));
  },
  "a custom notification": (w) => warm(() => notifyOwner(w)),
  async "creation of a user by SCIM"(w) {
    const scim = await scimClient(w);
    return warm(async () => ok(await scim.post("/Users", newScimUser())));
  },
  async "lookup of a user by SCIM"(w) {
    const scim = await scimClient(w);
    const user = newScimUser();
    ok(await scim.post("/Users", user));
    return warm(async () => {
      const { body } = ok(await scim.find("/Users", `userName eq "${user.userName}"`));
      expect(body.totalResults).to.equal(1);
    });
  },
  async "a heartbeat of an agent"(w) {
    const { agents } = await start(w, await w.user("ada"), {});
    return warm(() => w.as({ token: agents[0]!.token! }).graphql("mutation { agentHeartbeat { shutdown } }"));
  },
};

describe("hot paths take no more SQL statements than they do now", () => {
  const the = world();

  for (const [path, prepare] of Object.entries(requests))
    it(path, () =>
      // What the server remembers for a second, it still knows then, however long the requests take.
      withClock(async () => {
        const statements = await allStatementsOf(await prepare(the()));
        expect(statements.length, `\n${statements.join("\n\n")}\n`).to.be.at.most(most[path as Path]);
      }),
    );

  it("a job that a daemon takes", async () => {
    const w = the();
    const daemon = (await serve(w.app, { key: await newKey(w) })).work();
    const taken: number[] = [];
    // The least of several: background jobs run beside some.
    for (let nr = 0; nr < 5; nr++) {
      await queueImports(w, 1);
      const before = executedBy(w.app);
      const job = await daemon.job(nr);
      taken.push(executedBy(w.app) - before);
      await carryOut(daemon, job);
    }
    daemon.close();
    expect(Math.min(...taken), String(taken)).to.be.at.most(most["a job that a daemon takes"]);
  });
});
