// Users of OAuth2 applications: browsers at the consent page, and the address to which applications get them back.
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { type Person, userPassword, type World } from "../support/world.js";

/** A browser window of a user who is not signed in yet. */
export class Visitor {
  /** The text of the last consent page. */
  shown = "";

  private constructor(
    private readonly page: Page,
    private readonly person: Person,
  ) {}

  static async open(browser: Browser, person: Person): Promise<Visitor> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(60_000);
    return new Visitor(page, person);
  }

  /** Opens a page, signing in if necessary. */
  async open(url: URL | string): Promise<void> {
    await this.page.goto(String(url));
    if (new URL(this.page.url()).pathname !== "/login") return;
    await this.page.getByLabel("Email").fill(this.person.email);
    await this.page.getByLabel("Password").fill(userPassword);
    await this.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await this.page.waitForURL(({ pathname }) => pathname !== "/login");
  }

  /** Opens a consent page and decides there. Returns where the browser goes from it. */
  async decide(url: URL | string, decision: "Allow" | "Deny" = "Allow"): Promise<URL> {
    await this.open(url);
    this.shown = await this.page.locator("main").innerText();
    const button = this.page.getByRole("button", { name: decision, exact: true });
    await Promise.all([this.page.waitForEvent("load"), button.click()]);
    return new URL(this.page.url());
  }

  /** The heading of the current page. */
  heading = (): Promise<string> => this.page.locator("h1").innerText();

  close = (): Promise<void> => this.page.context().close();
}

/** An HTTP server of an application on a loopback address. */
export class Site {
  private constructor(
    private readonly server: Server,
    /** Its address, without a path. */
    readonly url: string,
  ) {}

  /** By default, it shows an empty page everywhere. */
  static async open(listener: RequestListener = (_, response) => response.end()): Promise<Site> {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const site = new Site(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    site.serve(listener);
    return site;
  }

  /** Replaces what it serves: applications need to know their address first. */
  serve(listener: RequestListener): void {
    this.server.removeAllListeners("request").on("request", listener);
  }

  close = async (): Promise<void> => {
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  };
}

export interface Registered {
  clientId: string;
  clientSecret: string;
}

/** Creates an application with a secret, as the owner. */
export async function createApp(w: World, input: Record<string, unknown>): Promise<Registered> {
  const owner = w.as(w.owner);
  const { createOAuth2App } = await owner.graphql(
    "mutation($input: CreateOAuth2AppInput!) { createOAuth2App(input: $input) { oauth2App { id clientId } } }",
    { input },
  );
  const { id, clientId } = createOAuth2App.oauth2App;
  const { createOAuth2AppSecret } = await owner.graphql(
    "mutation($app: UUID!) { createOAuth2AppSecret(input: { app: $app }) { clientSecretFull } }",
    { app: id },
  );
  return { clientId, clientSecret: createOAuth2AppSecret.clientSecretFull };
}

/** Creates a service account and returns its id. */
export async function createServiceAccount(w: World, username: string): Promise<string> {
  const { createUser } = await w
    .as(w.owner)
    .graphql("mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }", {
      input: {
        username,
        email: `${username}@example.com`,
        isServiceAccount: true,
        organizationIds: [w.defaultOrganization],
      },
    });
  return createUser.user.id;
}

/** The data that an access token reads: statuses and names from both interfaces. */
export async function reads(w: World, token: string) {
  const client = w.as({ token });
  const rest = await client.get("/api/v2/groups");
  const graphql = await client.post("/graphql", { query: "{ me { username } }" });
  return { rest: rest.status, graphql: graphql.status, username: graphql.body.data?.me.username as string | undefined };
}
