import { expect } from "chai";
import { ConfigError, readConfig } from "./support/app.js";
import { enter, type Part } from "./support/stage.js";
import { type Client, startWorld, type World, world } from "./support/world.js";

const path = "/api/v2/appearance";
const parts = `announcementBanners { enabled message backgroundColor } applicationName logoUrl docsUrl
  serviceBanner { enabled message backgroundColor } supportLinks { name target icon location }`;
const read = `{ appearance { ${parts} } }`;
const update = `mutation($input: UpdateAppearanceInput!) { updateAppearance(input: $input) {
  appearance { ${parts} } serviceBanner { enabled message backgroundColor } } }`;

const blank = { enabled: false, message: "", background_color: "" };
const red = { enabled: true, message: "**Hello**", background_color: "#ff0000" };
const blue = { enabled: false, message: "", background_color: "#0000Ff" };
const none = { announcement_banners: [], application_name: "", logo_url: "" };
const untouched = { ...none, service_banner: blank, docs_url: "", support_links: [] };

const many = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

/** Converts the names of fields from their spelling in REST to that in GraphQL. */
const camelCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(camelCase);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      camelCase(each),
    ]),
  );
};

/** Audit events of the appearance, oldest first. */
const history = async (w: World): Promise<unknown[]> =>
  (
    await w
      .as(w.owner)
      .graphql(`{ auditEvents(filter: { resourceType: "appearance" }) { nodes { action actorId diff } } }`)
  ).auditEvents.nodes.toReversed();

describe("the appearance of a fresh deployment", () => {
  const the = world();

  it("is empty for signed-in users and for workspace agents", async () => {
    const w = the();
    const ada = await w.user("ada");
    const { agent } = await w.workspace(ada);
    for (const client of [w.as(w.owner), w.as(ada), w.as(agent)]) {
      const answer = await client.get(path);
      expect(answer).to.include({ status: 200 });
      expect(answer.body).to.deep.equal(untouched);
      expect((await client.graphql(read)).appearance).to.deep.equal(camelCase(untouched));
    }
    expect(await w.nobody.get(path)).to.include({ status: 401 });
    expect((await w.nobody.failure(read)).code).to.equal("UNAUTHENTICATED");
    expect(await w.nobody.get(path, { Authorization: `Bearer ${agent.token}` })).to.include({ status: 200 });
  });
});

describe("the appearance", () => {
  const the = world();
  const put = (body: unknown) => the().as(the().owner).put(path, body);

  it("is replaced as a whole, with an audit event that names the actor", async () => {
    const w = the();
    const before = (await history(w)).length;
    const chosen = { announcement_banners: [red, blue], application_name: "Forge", logo_url: "/forge.png" };
    const answer = await put(chosen);
    expect(answer).to.include({ status: 200 });
    expect(answer.body).to.deep.equal({ ...chosen, service_banner: red });
    const ada = w.as(await w.user("ada"));
    expect((await ada.get(path)).body).to.deep.equal({ ...untouched, ...chosen, service_banner: red });

    const next = { announcement_banners: [blue], logo_url: "https://example.com/f.png" };
    expect((await put(next)).body).to.deep.equal({ ...none, ...next, service_banner: blue });
    expect((await put(next)).status).to.equal(200);
    expect((await put({})).body).to.deep.equal({ ...none, service_banner: blank });
    expect((await ada.get(path)).body).to.deep.equal(untouched);

    const actorId = w.owner.id;
    expect((await history(w)).slice(before)).to.deep.equal([
      {
        action: "UPDATE",
        actorId,
        diff: {
          applicationName: { old: "", new: "Forge" },
          logoUrl: { old: "", new: "/forge.png" },
          announcementBanners: { old: [], new: camelCase([red, blue]) },
        },
      },
      {
        action: "UPDATE",
        actorId,
        diff: {
          applicationName: { old: "Forge", new: "" },
          logoUrl: { old: "/forge.png", new: "https://example.com/f.png" },
          announcementBanners: { old: camelCase([red, blue]), new: [camelCase(blue)] },
        },
      },
      {
        action: "UPDATE",
        actorId,
        diff: {
          logoUrl: { old: "https://example.com/f.png", new: "" },
          announcementBanners: { old: [camelCase(blue)], new: [] },
        },
      },
    ]);
  });

  it("turns a service banner, from clients that know no other kind, into its only banner", async () => {
    const w = the();
    for (const announcement_banners of [undefined, null]) {
      await put({});
      expect((await put({ announcement_banners, service_banner: red })).body).to.deep.equal({
        ...none,
        announcement_banners: [red],
        service_banner: red,
      });
      expect((await w.as(w.owner).get(path)).body).to.deep.include({
        announcement_banners: [red],
        service_banner: red,
      });
    }
    const { message } = red;
    expect((await put({ service_banner: { message, background_color: "#ff0000" } })).body.announcement_banners)
      .to.deep //
      .equal([{ ...red, enabled: false }]);
  });

  it("returns but does not store a service banner that is blank or sent with a list of banners", async () => {
    for (const service_banner of [blank, {}, { enabled: false }]) {
      const { body } = await put({ service_banner });
      expect(body, JSON.stringify(service_banner)).to.deep.equal({ ...none, service_banner: blank });
    }
    for (const announcement_banners of [[], [blue]]) {
      const sent = { enabled: true, message: "Not stored", background_color: "red" };
      const { body } = await put({ announcement_banners, service_banner: sent });
      expect(body).to.deep.equal({ ...none, announcement_banners, service_banner: sent });
      const stored = await the().as(the().owner).get(path);
      expect(stored.body).to.deep.equal({
        ...untouched,
        announcement_banners,
        service_banner: announcement_banners[0] ?? blank,
      });
      const long = { ...sent, message: "é".repeat(3001) };
      const rejected = await put({ announcement_banners, service_banner: long });
      expect(rejected.status).to.equal(400);
      expect(rejected.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
        "service_banner.message",
      ]);
    }
  });

  it("stays unchanged by an invalid update, which is rejected with all its faults", async () => {
    const w = the();
    await put({ application_name: "Stays" });
    const events = (await history(w)).length;
    const long = "é".repeat(3001);
    const body = {
      announcement_banners: [
        red,
        { ...red, background_color: "red" },
        { enabled: false, message: long, background_color: "" },
        { enabled: false },
        { ...red, message: long.slice(1) },
        { ...red, background_color: "#FF00001" },
      ],
      application_name: "x".repeat(65),
      logo_url: "ftp://example.com/logo.png",
      service_banner: { background_color: "red" },
    };
    const answer = await put(body);
    expect(answer).to.include({ status: 400 });
    expect(answer.body.message).to.equal("Validation failed.");
    expect(answer.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "announcement_banners[1].background_color",
      "announcement_banners[2].message",
      "announcement_banners[2].background_color",
      "announcement_banners[3].background_color",
      "announcement_banners[5].background_color",
      "application_name",
      "logo_url",
    ]);
    const announcement_banners = body.announcement_banners.map((banner) => ({ background_color: "", ...banner }));
    const failure = await w.as(w.owner).failure(update, { input: camelCase({ ...body, announcement_banners }) });
    expect(failure.code).to.equal("BAD_USER_INPUT");
    expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal(
      "input.announcementBanners[1].backgroundColor",
    );

    for (const background_color of ["red", "", "#ff000", "#gggggg", undefined]) {
      const { status, body: refused } = await put({ service_banner: { ...red, background_color } });
      expect(status, background_color).to.equal(400);
      expect(refused.validations).to.deep.equal([
        { field: "service_banner.background_color", detail: "Must be # and six hexadecimal digits." },
      ]);
    }
    for (const logo_url of ["//evil.example/x", "javascript:alert(1)", "logo.png", "https://user@example.com/"]) {
      expect((await put({ logo_url })).body.validations[0].field, logo_url).to.equal("logo_url");
    }
    expect((await w.as(w.owner).get(path)).body).to.deep.equal({ ...untouched, application_name: "Stays" });
    expect(await history(w)).to.have.length(events);
  });

  it("has at most 20 banners", async () => {
    expect((await put({ announcement_banners: many(20, red) })).body.announcement_banners).to.have.length(20);
    expect((await put({ announcement_banners: many(21, {}) })).body.validations[0]).to.deep.equal({
      field: "announcement_banners",
      detail: "Must be at most 20 banners.",
    });
  });

  it("ends up as exactly one of several concurrent updates", async () => {
    const w = the();
    const before = (await history(w)).length;
    const banners = (n: number) => Array.from({ length: n }, () => ({ ...red, message: `Version ${n}` }));
    const sent = Array.from({ length: 16 }, (_, n) => ({
      announcement_banners: banners(n + 1),
      application_name: `Version ${n + 1}`,
      logo_url: `/${n + 1}.png`,
    }));
    const answers = await Promise.all(sent.map(put));
    for (const { status } of answers) expect(status).to.equal(200);
    const { body } = await w.as(w.owner).get(path);
    const { announcement_banners, application_name, logo_url } = body;
    expect(sent).to.deep.include({ announcement_banners, application_name, logo_url });

    // Each event holds the values that its change replaced, so the events form a chain that ends at the stored values.
    const names = (await history(w)).slice(before) as Array<{
      diff: { applicationName: { old: string; new: string } };
    }>;
    expect(names).to.have.length(16);
    const next = new Map(names.map(({ diff }) => [diff.applicationName.old, diff.applicationName.new]));
    expect(next.size).to.equal(16);
    const start = [...next.keys()].find((name) => ![...next.values()].includes(name));
    let name = start;
    let steps = 0;
    for (; name !== undefined && next.has(name); steps++) name = next.get(name);
    expect([name, steps]).to.deep.equal([application_name, 16]);
  });
});

describe("appearance on both surfaces", () => {
  const the = world();

  const roles = ["owner", "template-admin", "user-admin", "auditor"];
  const organizationRoles = ["admin", "template-admin", "user-admin", "auditor"].map((role) => `organization-${role}`);
  const scopes = [["all"], ["deployment_config:update"], ["deployment_config:read"], ["deployment_config:*"], []];
  const callers: Part[] = [
    ...[[], ...roles.map((role) => [role])].flatMap((siteRoles) => scopes.map((each) => ({ siteRoles, scopes: each }))),
    ...[[], ...organizationRoles.map((role) => [role]), organizationRoles].map((held) => ({ roles: held })),
    { rolesElsewhere: organizationRoles },
  ];

  /** The outcomes on each surface, in terms that both share. */
  async function outcomes(client: Client) {
    const rest = async (method: string, body?: unknown) => {
      const { status, headers, body: answer } = await client.request(method, path, body);
      const code = { 200: "", 400: "BAD_USER_INPUT", 401: "UNAUTHENTICATED", 403: "FORBIDDEN" }[status] ?? status;
      const scope = /insufficient_scope", scope="(.*)"/.exec(headers.get("www-authenticate") ?? "")?.[1];
      const fields = answer.validations?.map(({ field }: { field: string }) => field.replace("_u", "U"));
      return [code, code && answer.message, scope, fields];
    };
    const graphql = async (document: string, variables?: Record<string, unknown>) => {
      const { body } = await client.post("/graphql", { query: document, variables });
      const { message, extensions } = body.errors?.[0] ?? { message: "", extensions: {} };
      const fields = extensions.validations?.map(({ field }: { field: string }) => field.replace("input.", ""));
      return [extensions.code ?? "", message, extensions.requiredScopes?.[0], fields];
    };
    return {
      rest: [await rest("GET"), await rest("PUT", {}), await rest("PUT", { logo_url: "nonsense" })],
      graphql: [
        await graphql(read),
        await graphql(update, { input: {} }),
        await graphql(update, { input: { logoUrl: "nonsense" } }),
      ],
    };
  }

  it("is protected from the same callers in the same way", async () => {
    const w = the();
    const { agent } = await w.workspace(w.owner);
    const staged = await Promise.all(
      callers.map(async (part) => [JSON.stringify(part), (await enter(w, part)).client] as const),
    );
    const others = [
      ["an anonymous client", w.nobody],
      ["an agent", w.as(agent)],
      ["an unknown agent", w.as({ token: `stwa_${"x".repeat(43)}` })],
      ["nonsense", w.as({ token: "nonsense" })],
    ] as const;
    const codes = new Map<string, string[]>();
    for (const [who, client] of [...staged, ...others]) {
      const { rest, graphql } = await outcomes(client);
      expect(graphql, who).to.deep.equal(rest);
      codes.set(
        who,
        rest.map(([code]) => String(code)),
      );
    }
    const allowed = [...codes].filter(([, [, change]]) => change === "").map(([who]) => who);
    expect(allowed).to.deep.equal(
      ["all", "deployment_config:update", "deployment_config:*"].map((scope) =>
        JSON.stringify({ siteRoles: ["owner"], scopes: [scope] }),
      ),
    );
    for (const who of allowed) expect(codes.get(who)).to.deep.equal(["", "", "BAD_USER_INPUT"]);
    const refused = ["UNAUTHENTICATED", "UNAUTHENTICATED", "UNAUTHENTICATED"];
    for (const who of ["an anonymous client", "an unknown agent", "nonsense"])
      expect(codes.get(who), who).to.deep.equal(refused);
    expect(codes.get("an agent")).to.deep.equal(["", ...refused.slice(1)]);
    for (const [who] of staged.filter(([each]) => !allowed.includes(each)))
      expect(codes.get(who), who).to.deep.equal(["", "FORBIDDEN", "FORBIDDEN"]);
  });
});

describe("documentation and support links", () => {
  const links = (text: string) => readConfig({ STEWARD_SUPPORT_LINKS: text }).supportLinks;

  it("come from the environment and cannot be changed by an update", async () => {
    const docs = await startWorld({ STEWARD_DOCS_URL: "https://docs.example.com/" });
    const both = await startWorld({
      STEWARD_DOCS_URL: "https://docs.example.com/",
      STEWARD_SUPPORT_LINKS: `[{"name": "Bugs", "target": "https://bugs.example.com", "icon": "bug", "location": "dropdown"},
        {"name": "Help", "target": "https://help.example.com"}]`,
    });
    try {
      const documentation = {
        name: "Documentation",
        target: "https://docs.example.com/",
        icon: "docs",
        location: "navbar",
      };
      const configured = [
        { name: "Bugs", target: "https://bugs.example.com", icon: "bug", location: "dropdown" },
        { name: "Help", target: "https://help.example.com", icon: "docs", location: "navbar" },
      ];
      for (const [w, support_links] of [
        [docs, [documentation]],
        [both, configured],
      ] as const) {
        const client = w.as(w.owner);
        await client.put(path, { docs_url: "https://evil.example", support_links: [] });
        expect((await client.get(path)).body).to.deep.include({ docs_url: documentation.target, support_links });
        expect((await client.graphql(read)).appearance).to.deep.include({ supportLinks: support_links });
      }
    } finally {
      await docs.close();
      await both.close();
    }
  });

  it("are validated strictly", () => {
    const link = { name: "Help", target: "https://help.example.com", icon: "https://example.com/i.png" };
    expect(links(JSON.stringify([link]))).to.deep.equal([{ ...link, location: "navbar" }]);
    expect(links("[]")).to.deep.equal([]);
    expect(readConfig({}).supportLinks).to.equal(undefined);
    const faulty = [
      "not JSON",
      "{}",
      JSON.stringify(many(21, link)),
      ...[
        null,
        "text",
        { name: "Help" },
        { ...link, name: " " },
        { ...link, name: "x".repeat(65) },
        { ...link, target: "javascript:alert(1)" },
        { ...link, icon: "unknown" },
        { ...link, icon: "" },
        { ...link, location: "footer" },
        { ...link, icon: 5 },
        { ...link, more: true },
        { ...link, name: "\ud800" },
      ].map((each) => JSON.stringify([each])),
    ];
    for (const text of faulty) {
      expect(() => links(text), text).to.throw(ConfigError, "STEWARD_SUPPORT_LINKS");
    }
    expect(() => readConfig({ STEWARD_DOCS_URL: "docs.example.com" })).to.throw(ConfigError, "STEWARD_DOCS_URL");
  });
});

describe("the pages of the server", () => {
  const the = world();
  const html = { Accept: "text/html" };

  it("look as the deployment does: with its name and logo for visitors, and its banners for users", async () => {
    const w = the();
    const ada = await w.user("ada");
    const policyOf = ({ headers }: { headers: Headers }) => headers.get("content-security-policy");
    const plain = await w.nobody.get("/login", html);
    expect(plain.body).to.include("<title>Sign in · Steward</title>");
    expect(policyOf(plain)).to.include("img-src 'self' data:;");

    const announcementBanners = [
      { enabled: true, message: "Maintenance <b>at noon</b>", backgroundColor: "#ff0000" },
      { enabled: false, message: "Not yet", backgroundColor: "#ff0000" },
    ];
    const input = { applicationName: 'Nova & "Co"', logoUrl: "https://cdn.example.com/logo.png", announcementBanners };
    await w.as(w.owner).graphql(update, { input });
    const { serverInfo } = await w.nobody.graphql("{ serverInfo { branding { applicationName logoUrl } } }");
    expect(serverInfo.branding).to.deep.equal({ applicationName: input.applicationName, logoUrl: input.logoUrl });

    const visitors = await Promise.all(
      ["/login", "/login/forgot-password", "/login/invitation", "/no-such-page"].map((at) => w.nobody.get(at, html)),
    );
    for (const page of visitors) {
      expect(page.body)
        .to.include("Nova &amp; &quot;Co&quot;</bdi>")
        .and.include(`<img src="${input.logoUrl}" alt="" />`);
      expect(page.body).to.not.include("Maintenance").and.not.include("<b>");
      expect(policyOf(page)).to.include("img-src 'self' data: https://cdn.example.com;");
    }
    expect(visitors.at(-1)!.body, "an error").to.include('href="/">Back to Nova &amp; &quot;Co&quot;</a>');
    expect(visitors[0]!.body).to.include("<title>Sign in · Nova &amp; &quot;Co&quot;</title>");
    for (const at of ["/account/password", "/account/keys", "/external-auth", "/oauth2/device"]) {
      const { body } = await w.as(ada).get(at, html);
      expect(body, at)
        .to.include("Nova &amp;")
        .and.include('<p class="banner">Maintenance &lt;b&gt;at noon&lt;/b&gt;</p>');
      expect(body, at).to.not.include("Not yet");
    }
    expect(policyOf(await w.as(ada).get("/workspaces", html)), "the console").to.include("https://cdn.example.com;");

    for (const logoUrl of ["/own.png", "https://cdn.example.com:8443/x;script-src"]) {
      await w.as(w.owner).graphql(update, { input: { logoUrl } });
      const policy = policyOf(await w.nobody.get("/login", html))!;
      expect(policy.split("; ").filter((part) => part.startsWith("script-src"))).to.deep.equal(["script-src 'self'"]);
      expect(policy).to.include(
        `img-src 'self' data:${logoUrl.startsWith("/") ? "" : " https://cdn.example.com:8443"};`,
      );
    }
  });
});
