// A caller is authenticated, counted, and checked for its scopes once per request, on every surface.
import { mock } from "node:test";
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { transports } from "./support/watchers.js";
import { type Person, world } from "./support/world.js";

describe("a caller is checked once per request", () => {
  const w = world();
  let ada: Person;
  before(async () => {
    ada = await w().user("ada");
  });
  afterEach(() => mock.restoreAll());

  /** Counts the checks during `act`: authentications, counts against limits, and reads of scopes. */
  async function checks(act: () => Promise<unknown>) {
    const { credentials, limits } = w().app.services;
    let scopes = 0;
    const authenticate = credentials.authenticateUser.bind(credentials);
    const authentications = mock.method(credentials, "authenticateUser", async (token: string) => {
      const actor = await authenticate(token);
      return Object.defineProperty({ ...actor }, "scopes", { get: () => (scopes++, actor.scopes) });
    });
    const counts = mock.method(limits, "countCaller");
    await act();
    return { authentications: authentications.mock.callCount(), counts: counts.mock.callCount(), scopes };
  }

  const once = { authentications: 1, counts: 1, scopes: 1 };
  const query = "{ me { username } }";

  const surfaces: Record<string, () => Promise<unknown>> = {
    "by a new GraphQL document": () => w().as(ada).graphql(`${query} # ${Math.random()}`),
    "by a known GraphQL document": () => w().as(ada).graphql(query),
    "by REST": () => w().as(ada).get("/api/v2/applications/host"),
    "by a stream of the REST interface": async () => (await transports.SSE(w().url, ada.token)).close(),
  };
  for (const [how, act] of Object.entries(surfaces))
    it(how, async () => {
      for (let run = 0; run < 3; run++) expect(await checks(act)).to.deep.equal(once);
    });

  it("by each operation of a socket", async () => {
    const client = createClient({
      url: `${w().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: ada.token },
      lazy: false,
    });
    const run = async () => {
      for await (const { errors } of client.iterate({ query })) expect(errors).to.equal(undefined);
    };
    await run();
    for (let n = 0; n < 3; n++) expect(await checks(run)).to.deep.equal(once);
    await client.dispose();
  });
});
