// Clients that write, watch, and rotate tokens all the time, on several replicas, and what they were promised.
// Looks inside: jobs are queued directly, as `provisioners.ts` does.
import { expect } from "chai";
import type { App } from "./app.js";
import { makeClient, makeCode, redeem } from "./oauth2.js";
import { queueImport } from "./provisioners.js";
import { eventually, type Told, transports, type Watcher } from "./watchers.js";
import { type Answer, Client, type Person, type World } from "./world.js";

/** Milliseconds between two requests of a client, and after one that failed. */
const pause = 30;
const pauseAfterFailure = 150;
/** Notifications of a user are limited to 20 per minute. */
const pauseOfNotifications = 3_200;
const pauseOfJobs = 500;

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const unknown = /^It is not known whether/;

/** A response that is not a success, as far as it says what became of the request. */
type Outcome = "nothing stored" | "unknown";

interface Reported {
  /** Milliseconds without an acknowledged write on the replica that had to wait longest. */
  outage: number;
  acknowledged: number;
  failed: number;
  unknown: number;
  rotations: number;
  notifications: number;
  jobs: number;
}

export class Load {
  #isOver = false;
  readonly #work: Array<Promise<void>> = [];
  readonly #watchers: Watcher[] = [];
  /** When writes were acknowledged, by replica, in milliseconds of the monotonic clock. */
  readonly #times: number[][];
  /** IDs of groups by their names, of all that were acknowledged. */
  readonly #created = new Map<string, string>();
  readonly #names = { failed: new Set<string>(), unknown: new Set<string>() };
  readonly #counters: Array<{ id: string; acknowledged: number; unknown: Set<number> }> = [];
  /** The newest access token of each chain. */
  readonly #tokens: string[] = [];
  readonly #inboxes: Array<{ person: Person; acknowledged: string[]; received: Told[] }> = [];
  readonly #jobs: string[] = [];
  readonly #report = { failed: 0, unknown: 0, rotations: 0 };
  /** Responses that were not promised, and other failures. */
  readonly #faults: string[] = [];
  static #made = 0;

  constructor(
    private readonly w: World,
    private readonly replicas: readonly App[],
  ) {
    this.#times = replicas.map(() => []);
  }

  /** Resolves when all clients are at work. */
  async start(): Promise<void> {
    const { w, replicas } = this;
    for (const [index] of replicas.entries()) {
      const other = replicas[(index + 1) % replicas.length]!;
      this.#repeat(() => this.#createByRest(index));
      this.#repeat(() => this.#createByGraphql(index));
      const group = await w.group(`counter-${++Load.#made}`);
      const counter = { id: group.id, acknowledged: 0, unknown: new Set<number>() };
      this.#counters.push(counter);
      let value = 0;
      this.#repeat(() => this.#count(index, counter, ++value));
      await this.#rotate(index);
      for (const name of ["WebSocket", "subscription"] as const) await this.#notify(index, other, name);
    }
    this.#repeat(() => this.#queue(), pauseOfJobs);
    await this.progress(performance.now());
  }

  /** Waits until writes that began after a moment were acknowledged on all replicas. */
  async progress(since: number, milliseconds = 60_000): Promise<void> {
    const isDone = () => this.#times.every((times) => times.filter((time) => time > since).length >= 10);
    await eventually(isDone, "all replicas acknowledge writes", milliseconds);
  }

  /** Ends the clients that write. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#work);
  }

  /** Checks all that was acknowledged, after a fault at the moment `since`. */
  async check(since: number): Promise<Reported> {
    const owner = this.#client(0, this.w.owner);
    await this.#checkGroups(owner);
    for (const token of this.#tokens)
      expect(
        (await this.#client(1, { token }).post("/graphql", { query: "{ me { id } }" })).status,
        "a token",
      ).to.equal(200);
    for (const { acknowledged, received } of this.#inboxes) {
      const titles = () => received.map(({ title }) => title);
      const isDone = () => acknowledged.every((title) => titles().includes(title));
      await eventually(isDone, "all notifications arrive", 20_000);
      expect(new Set(titles()).size, "no notification arrives twice").to.equal(received.length);
    }
    await this.#checkJobs();
    for (const watcher of this.#watchers) watcher.close();
    expect(this.#faults).to.deep.equal([]);
    const outages = this.#times.map((times) => {
      const after = [since, ...times.filter((time) => time > since)];
      return Math.max(...after.slice(1).map((time, index) => time - after[index]!));
    });
    return {
      outage: Math.max(...outages),
      acknowledged: this.#times.flat().length,
      ...this.#report,
      notifications: this.#inboxes.flatMap(({ acknowledged }) => acknowledged).length,
      jobs: this.#jobs.length,
    };
  }

  async #checkGroups(owner: Client): Promise<void> {
    const groups = new Map<string, { id: string; display_name: string }>();
    for (let offset = 0; ; offset += 1000) {
      const { body } = await owner.get(`/api/v2/groups?limit=1000&offset=${offset}`);
      for (const group of body as Array<{ id: string; name: string; display_name: string }>)
        groups.set(group.name, group);
      if (body.length < 1000) break;
    }
    const lost = [...this.#created].filter(([name, id]) => groups.get(name)?.id !== id);
    expect(lost, "acknowledged, and lost").to.deep.equal([]);
    expect(
      [...this.#names.failed].filter((name) => groups.has(name)),
      "failed, and stored",
    ).to.deep.equal([]);
    const byId = new Map([...groups.values()].map((group) => [group.id, group]));
    for (const { id, acknowledged, unknown: possible } of this.#counters)
      expect([acknowledged, ...possible].map(String), "the value of a counter").to.include(byId.get(id)!.display_name);
  }

  async #checkJobs(): Promise<void> {
    const { pool } = this.replicas[0]!.services.database;
    const select = "select status, count(*)::int as count from provisioner_jobs where id = any($1) group by status";
    const done = async () => {
      const { rows } = await pool.query<{ status: string; count: number }>(select, [this.#jobs]);
      return rows.length === 1 && rows[0]!.status === "succeeded" && rows[0]!.count === this.#jobs.length;
    };
    await eventually(done, "all jobs succeed", 60_000);
  }

  #client = (replica: number, person: Pick<Person, "token">) => new Client(this.replicas[replica]!.url, person.token);

  /** Works until `stop` is called. Work resolves with whether it succeeded. */
  #repeat(work: () => Promise<boolean>, milliseconds = pause): void {
    const run = async () => {
      while (!this.#isOver) {
        try {
          await wait((await work()) ? milliseconds : pauseAfterFailure);
        } catch (error) {
          this.#faults.push(String(error));
          await wait(pauseAfterFailure);
        }
      }
    };
    this.#work.push(run());
  }

  /** Returns the outcome that a failed request reports. A response that is not promised is a fault. */
  #failed({ status, body }: Answer, what: string): Outcome {
    const [error] = (body.errors ?? []) as Array<{ extensions: { code: string; detail?: string } }>;
    const text = error?.extensions.detail ?? body.detail ?? body.error_description ?? "";
    const isPromised = error ? error.extensions.code === "UNAVAILABLE" : status === 503;
    if (!isPromised) this.#faults.push(`${what}: ${status} ${JSON.stringify(body)}`);
    this.#report.failed++;
    if (!unknown.test(text)) return "nothing stored";
    this.#report.unknown++;
    return "unknown";
  }

  async #createByRest(replica: number): Promise<boolean> {
    const name = `load-${++Load.#made}`;
    const answer = await this.#client(replica, this.w.owner).post("/api/v2/organizations/default/groups", { name });
    return this.#noteGroup(replica, name, answer, answer.status === 201 ? answer.body.id : undefined);
  }

  async #createByGraphql(replica: number): Promise<boolean> {
    const name = `load-${++Load.#made}`;
    const answer = await this.#client(replica, this.w.owner).post("/graphql", {
      query: `mutation($name: String!) {
        createGroup(input: { organization: "default", name: $name }) { group { id } } }`,
      variables: { name },
    });
    return this.#noteGroup(replica, name, answer, answer.body.data?.createGroup?.group.id);
  }

  #noteGroup(replica: number, name: string, answer: Answer, id: string | undefined): boolean {
    if (id === undefined) {
      const outcome = this.#failed(answer, "a creation");
      this.#names[outcome === "unknown" ? "unknown" : "failed"].add(name);
      return false;
    }
    this.#created.set(name, id);
    this.#times[replica]!.push(performance.now());
    return true;
  }

  async #count(
    replica: number,
    counter: { id: string; acknowledged: number; unknown: Set<number> },
    value: number,
  ): Promise<boolean> {
    const path = `/api/v2/groups/${counter.id}`;
    const answer = await this.#client(replica, this.w.owner).patch(path, { display_name: String(value) });
    if (answer.status === 200) {
      counter.acknowledged = value;
      counter.unknown.clear();
    } else if (this.#failed(answer, "a change") === "unknown") counter.unknown.add(value);
    return answer.status === 200;
  }

  /** Rotates a refresh token again and again. A failed rotation is repeated with the same token. */
  async #rotate(replica: number): Promise<void> {
    const { w } = this;
    const client = await makeClient(w);
    const { code } = await makeCode(w, client, await w.user("rotates"));
    let { refresh_token: token, access_token: access } = (await redeem(w, client, code)).body as Record<string, string>;
    const chain = this.#tokens.push(access!) - 1;
    this.#repeat(async () => {
      const form = new URLSearchParams({
        grant_type: "refresh_token",
        client_id: client.id,
        client_secret: client.secret!,
        refresh_token: token!,
      });
      const headers = { "Content-Type": "application/x-www-form-urlencoded" };
      const answer = await new Client(this.replicas[replica]!.url).post("/oauth2/tokens", form.toString(), headers);
      if (answer.status !== 200) {
        this.#failed(answer, "a rotation");
        return false;
      }
      ({ refresh_token: token, access_token: access } = answer.body as Record<string, string>);
      this.#tokens[chain] = access!;
      this.#report.rotations++;
      return true;
    }, pause * 10);
  }

  /** Sends a user notifications on one replica, who watches the inbox on another one, and resumes when a stream ends. */
  async #notify(replica: number, other: App, transport: "WebSocket" | "subscription"): Promise<void> {
    const person = await this.w.user("watches");
    const inbox = { person, acknowledged: [] as string[], received: [] as Told[] };
    this.#inboxes.push(inbox);
    await this.#watch(inbox, other, transport);
    let title = `n-${++Load.#made}`;
    this.#repeat(async () => {
      const path = "/api/v2/notifications/custom";
      const headers = { "Idempotency-Key": title };
      const answer = await this.#client(replica, person).post(path, { content: { title, message: "" } }, headers);
      if (answer.status !== 204) {
        this.#failed(answer, "a notification");
        return false;
      }
      inbox.acknowledged.push(title);
      title = `n-${++Load.#made}`;
      return true;
    }, pauseOfNotifications);
  }

  async #watch(
    inbox: { person: Person; received: Told[] },
    { url }: App,
    transport: "WebSocket" | "subscription",
  ): Promise<void> {
    const last = inbox.received.at(-1)?.id;
    const watcher = await transports[transport](url, inbox.person.token, { ...(last && { query: `?since=${last}` }) });
    // Those that came with the response, and those that come.
    inbox.received.push(...watcher.items);
    watcher.items.push = (...items) => inbox.received.push(...items);
    this.#watchers.push(watcher);
    const resume = async () => {
      await watcher.ended;
      while (!this.#isOver) {
        await wait(pauseAfterFailure);
        const isBack = await this.#watch(inbox, { url } as App, transport).then(
          () => true,
          () => false,
        );
        if (isBack) return;
      }
    };
    void resume();
  }

  async #queue(): Promise<boolean> {
    const app = this.replicas[this.#jobs.length % this.replicas.length]!;
    const { owner, defaultOrganization } = this.w;
    try {
      this.#jobs.push(await queueImport({ app, owner, defaultOrganization }));
      return true;
    } catch {
      return false;
    }
  }
}
