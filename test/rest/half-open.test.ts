// Connections to Postgres on which nothing arrives any more, although they are open: a lost route, a dead firewall.
import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import { type CutOff, cutOff } from "../support/cut-off.js";
import { eventually } from "../support/watchers.js";
import { Client, world } from "../support/world.js";

describe("a server whose connections to Postgres lose all packets", () => {
  const the = world();
  let way: CutOff;
  let app: App;

  before(async () => {
    way = await cutOff(the().database.url);
    app = await startServer(way.url, { STEWARD_REQUEST_TIMEOUT: "4s", STEWARD_DATABASE_POOL: "2" });
  });
  after(async () => {
    await app.close();
    await way.close();
  });

  it("responds 503 meanwhile, and serves again within 20 seconds after the network recovers", async () => {
    const owner = new Client(app.url, the().owner.token);
    let made = 0;
    const create = () => owner.post("/api/v2/organizations/default/groups", { name: `half-open-${++made}` });
    const all = async () => [
      (await owner.get("/readyz")).status,
      ...(await Promise.all(Array.from({ length: 12 }, () => owner.get("/api/v2/groups")))).map(({ status }) => status),
      (await create()).status,
    ];
    // The first ones may take longer than they may on a machine that is busy.
    const isServing = async () => isDeepStrictEqual(new Set(await all()), new Set([200, 201]));
    await eventually(isServing, "all requests succeed");

    way.swallow();
    expect(new Set(await all())).to.deep.equal(new Set([503]));
    expect((await owner.get("/healthz")).status).to.equal(200);

    way.heal();
    const isWell = async () => (await all()).every((status) => status < 300);
    await eventually(isWell, "all requests succeed", 20_000);
  });
});
