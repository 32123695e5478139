// Resuming an inbox after its database was restored from an older backup.
import { expect } from "chai";
import { type App, ownerPassword, startServer } from "../support/app.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../support/cluster.js";
import { deliver } from "../support/inbox.js";
import { eventually, transports, type Watcher } from "../support/watchers.js";
import { Client } from "../support/world.js";

const numbered = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word} ${n + 1}`);
const titles = ({ items }: Watcher) => items.map(({ title }) => title);

describe("a watcher of a database restored from an older backup", () => {
  let database: TestDatabase;
  let backup: TestDatabase;
  let token: string;
  let owner: string;
  /** The cursor of the last notification seen before the restore; the backup does not contain it. */
  let former: string;
  const servers: App[] = [];
  const watchers: Watcher[] = [];
  const start = async ({ url }: TestDatabase) => {
    const app = await startServer(url);
    servers.push(app);
    return app;
  };
  const copy = ({ url }: TestDatabase) => createDatabase(new URL(url).pathname.slice(1));
  const stop = () => Promise.all(servers.splice(0).map((app) => app.close()));
  const deliverInOrder = async (app: App, words: string[]) => {
    for (const word of words) await deliver(app, owner, [word]);
  };
  const watch = async (name: keyof typeof transports, { url }: App, query: string, headers = {}) => {
    const watcher = await transports[name](url, token, { query, headers });
    watchers.push(watcher);
    return watcher;
  };

  before(async () => {
    database = await cloneDatabase();
    let app = await start(database);
    const { body } = await new Client(app.url).post("/api/v2/users/login", {
      email: "owner@example.com",
      password: ownerPassword,
    });
    token = body.session_token;
    owner = (await new Client(app.url, token).graphql("{ me { id } }")).me.id;
    await deliver(app, owner, ["read before"]);
    await new Client(app.url, token).put("/api/v2/notifications/inbox/mark-all-as-read");
    await deliver(app, owner, ["kept"]);
    await stop();
    backup = await copy(database);

    app = await start(database);
    const watcher = await watch("SSE", app, "");
    await deliverInOrder(app, numbered("lost", 10));
    await eventually(() => watcher.items.length === 10, "the watcher gets all");
    former = watcher.items.at(-1)!.cursor!;
    await stop();
  });
  after(async () => {
    await backup.drop();
    await database.drop();
  });

  let restored: TestDatabase;
  let app: App;
  beforeEach(async () => {
    restored = await copy(backup);
    app = await start(restored);
  });
  afterEach(async () => {
    for (const watcher of watchers.splice(0)) watcher.close();
    await stop();
    await restored.drop();
  });

  const names = Object.keys(transports) as Array<keyof typeof transports>;
  /** Resumes after the last item seen before the restore, in every possible way. */
  const resumeEverywhere = () =>
    Promise.all([
      ...names.map((name) => watch(name, app, `?since=${former}`)),
      watch("SSE", app, "", { "Last-Event-ID": former }),
    ]);

  it("misses nothing written since, on any transport", async () => {
    await deliverInOrder(app, numbered("new", 12));
    const resumed = await resumeEverywhere();
    await deliver(app, owner, ["live"]);
    const expected = ["kept", ...numbered("new", 12), "live"];
    await eventually(() => resumed.every(({ items }) => items.length >= expected.length), "all watchers get all");
    for (const watcher of resumed) expect(titles(watcher)).to.deep.equal(expected);
    for (const { restarts } of [resumed[1]!, resumed[3]!, resumed[4]!]) expect(restarts).to.deep.equal([13]);
  });

  it("gets notifications that have been read since, because none was delivered under its cursor", async () => {
    await deliver(app, owner, ["new"]);
    await new Client(app.url, token).put("/api/v2/notifications/inbox/mark-all-as-read");
    const resumed = await watch("SSE", app, `?since=${former}`);
    await eventually(() => resumed.items.length >= 1, "the watcher gets it");
    expect(titles(resumed)).to.deep.equal(["new"]);
  });

  it("with a cursor beyond all rows starts from the unread ones, reports a restart, and continues live", async () => {
    const resumed = await resumeEverywhere();
    await eventually(
      () => resumed.every(({ items }) => items.length >= 1),
      "all watchers get the unread notifications",
    );
    await deliver(app, owner, ["live"]);
    await eventually(() => resumed.every(({ items }) => items.length >= 2), "all watchers get the live notification");
    for (const watcher of resumed) expect(titles(watcher)).to.deep.equal(["kept", "live"]);
    for (const { restarts, unread } of [resumed[1]!, resumed[3]!, resumed[4]!])
      expect({ restarts, unread }).to.deep.equal({ restarts: [1], unread: [1] });
  });

  it("with a cursor from within the backup resumes after it", async () => {
    const first = await watch("SSE", app, "?since=0");
    await eventually(() => first.items.length === 2, "the watcher gets all");
    await deliver(app, owner, ["new"]);
    const resumed = await watch("SSE", app, `?since=${first.items[1]!.cursor}`);
    await eventually(() => resumed.items.length >= 1, "the watcher gets the new notification");
    expect({ titles: titles(resumed), restarts: resumed.restarts }).to.deep.equal({ titles: ["new"], restarts: [] });
  });
});
