import { client } from "../oauth2.js";
import { form, request } from "../requests.js";
import type { Deployment } from "./deployment.js";

/** Checks at a time. */
const concurrent = 16;

/** Examples in the message of a loss. */
const shown = 10;

/** A read by an access token of the application: of itself, which every user may read. */
export const readApp = (token: string): string =>
  request("GET", `/api/v2/oauth2-provider/apps/${client.id}`, { bearer: token });

/** Everything that the servers acknowledged, to be found again when the load has ended. */
export class Promises {
  readonly #sessions: string[] = [];
  readonly #accessTokens: string[] = [];
  readonly #grants = new Map<number, { access: string; refresh: string }>();
  readonly #builds = new Map<string, { token: string; status: string }>();
  readonly #tasks = new Map<string, { token: string; message?: string }>();
  readonly #titles: string[] = [];
  readonly #users = new Map<string, string>();
  readonly #userTitles = new Map<string, string>();

  signedIn = (token: string): void => void this.#sessions.push(token);
  issued = (token: string): void => void this.#accessTokens.push(token);
  refreshed = (nr: number, access: string, refresh: string): void => void this.#grants.set(nr, { access, refresh });
  building = (id: string, token: string, status: string): void => void this.#builds.set(id, { token, status });
  taskCreated = (id: string, token: string): void => void this.#tasks.set(id, { token });
  taskReported = (id: string, message: string): void => void (this.#tasks.get(id)!.message = message);
  notified = (title: string): void => void this.#titles.push(title);
  provisioned = (id: string, userName: string): void => void this.#users.set(id, userName);
  /** Requests without a response may have been carried out, which ends the tokens and the title before. */
  forgetGrant = (nr: number): void => void this.#grants.delete(nr);
  forgetTitle = (id: string): void => void this.#userTitles.delete(id);
  titled = (id: string, title: string): void => void this.#userTitles.set(id, title);

  /** Looks everything up, on both servers in turn. Throws if something is missing; returns how much was found, by kind. */
  async check(deployment: Deployment): Promise<ReadonlyMap<string, number>> {
    const { clients, scimKey: bearer, delivered } = deployment;
    const found = new Map<string, number>();
    const lost: string[] = [];
    const each = async <Item>(kind: string, items: readonly Item[], isThere: (item: Item) => Promise<boolean>) => {
      const pending = [...items];
      const some = async () => {
        for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
          const fault = await isThere(item).then(
            (is) => (is ? undefined : "is not as acknowledged"),
            (error: Error) => error.message,
          );
          if (fault !== undefined) lost.push(`${kind}, ${JSON.stringify(item).slice(0, 100)}: ${fault}`);
        }
      };
      await Promise.all(Array.from({ length: concurrent }, some));
      found.set(kind, items.length);
    };

    await each("sessions", this.#sessions, async (token) => {
      const { me } = await deployment.graphql<{ me: { id: string } }>("{ me { id } }", {}, token);
      return me.id.length > 0;
    });
    await each("access tokens of applications", this.#accessTokens, async (token) =>
      (await clients.ask(readApp(token))).includes(client.id),
    );
    await each("refreshed grants", [...this.#grants], async ([, { access, refresh }]) => {
      await clients.ask(readApp(access));
      const again = form("/oauth2/tokens", client, { grant_type: "refresh_token", refresh_token: refresh });
      return (await clients.ask(again)).includes("refresh_token");
    });
    await each("builds", [...this.#builds], async ([id, { token, status }]) => {
      const { workspaceBuild } = await deployment.graphql<{
        workspaceBuild: { status: string; job: { status: string; logs: { nodes: unknown[] } } } | null;
      }>(
        "query($id: UUID!) { workspaceBuild(id: $id) { status job { status logs { nodes { id } } } } }",
        { id },
        token,
      );
      const { job } = workspaceBuild ?? {};
      return workspaceBuild?.status === status && job?.status === "SUCCEEDED" && job.logs.nodes.length > 0;
    });
    await each("tasks", [...this.#tasks], async ([task, { token, message }]) => {
      const read = await deployment.graphql<{ task: { currentState: { message: string } | null } | null }>(
        "query($task: String!) { task(task: $task) { currentState { message } } }",
        { task },
        token,
      );
      return read.task !== null && (message === undefined || read.task.currentState?.message === message);
    });
    await each("notifications on the socket of their user", this.#titles, async (title) => delivered.get(title) === 1);
    await each("new users of SCIM", [...this.#users], async ([id, userName]) => {
      const user = await clients.ask(request("GET", `/scim/v2/Users/${id}`, { bearer }));
      return user.includes(userName);
    });
    await each("changed users of SCIM", [...this.#userTitles], async ([id, title]) => {
      const user = JSON.parse(await clients.ask(request("GET", `/scim/v2/Users/${id}`, { bearer }))) as {
        title?: string;
      };
      return user.title === title;
    });

    if (lost.length > 0)
      throw new Error(`Lost, although acknowledged: ${lost.length}.\n${lost.slice(0, shown).join("\n")}`);
    return found;
  }
}
