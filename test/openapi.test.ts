// The form of the OpenAPI description of the REST API, and the pages that present it.
import { expect } from "chai";
import { contract, modifying, mounted, protocols } from "./contract/contract.js";
import { Description, type Schema } from "./support/openapi.js";
import { world } from "./support/world.js";

describe("the OpenAPI description", () => {
  const w = world();
  let described: Description;
  before(async () => {
    described = await Description.of(w());
  });

  it("is OpenAPI 3.1, and names this server and the license of the program", async () => {
    const { openapi, info, servers } = described.document;
    const { headers } = await w().nobody.get("/openapi.json");
    expect(headers.get("content-type")).to.equal("application/json; charset=utf-8");
    expect(openapi).to.match(/^3\.1\.\d$/);
    expect(info.title).to.equal("Steward");
    expect(info.version).to.match(/^\d+\.\d+\.\d+/);
    expect(info.license).to.deep.equal({ name: "MIT", identifier: "MIT" });
    expect(servers[0]!.url).to.equal(w().app.services.config.accessUrl);
  });

  it("covers every route exactly once", () => {
    expect(described.operations.map(({ name }) => name)).to.have.members(
      [...mounted, ...protocols].map(({ name }) => name),
    );
    const ids = described.operations.map(({ operation }) => operation.operationId);
    expect(ids).to.have.length(new Set(ids).size);
  });

  it("describes routes that are not rows: for provisioner daemons, external agents, and editors", async () => {
    const [serve, script, editors] = described.plain;
    expect(serve!.name).to.equal("GET /api/v2/organizations/{organization}/provisionerdaemons/serve");
    expect(script!.name).to.equal("GET /api/v2/init-script/{os}/{arch}");
    const { responses, components } = { ...serve!.operation, ...described.document };
    const path = "/api/v2/organizations/default/provisionerdaemons/serve";
    const plain = await w().as(w().owner).get(`${path}?provisioner=echo`);
    const none = await w().nobody.get(path);
    for (const { status } of [plain, none]) expect(responses).to.include.keys(String(status));
    expect(plain.status).to.equal(426);
    expect(plain.headers.get("upgrade")).to.equal("websocket");
    for (const { $ref } of Object.values({ ...responses, ...script!.operation.responses }))
      if ($ref) expect(components.responses).to.include.keys($ref.split("/").at(-1)!);
    const [os, arch] = script!.operation.parameters!.map(({ schema }) => schema.enum!);
    for (const each of os!) {
      const { status, headers } = await w().nobody.get(`/api/v2/init-script/${each}/${arch![0]}`);
      expect({ status, type: headers.get("content-type") }).to.deep.equal({
        status: 200,
        type: "text/plain; charset=utf-8",
      });
    }
    expect((await w().nobody.get("/api/v2/init-script/linux/other")).status).to.equal(404);
    const [type] = Object.keys(editors!.operation.responses[200]!.content!);
    const served = await w().nobody.get(editors!.name.split(" ")[1]!);
    expect({ status: served.status, type: served.headers.get("content-type")?.split(";")[0] }).to.deep.equal({
      status: 200,
      type,
    });
  });

  it("gives each operation texts, a tag with a text, its parameters, and its statuses", () => {
    for (const { name, path, operation } of described.operations) {
      const { status, open } = contract.get(name)!;
      const { summary, description, tags, security, parameters = [], responses } = operation;
      expect(summary, name).to.match(/^[A-Z][^.]+$/);
      expect(description, name).to.match(/\.$/);
      const { tags: declared } = described.document;
      expect(declared.find((tag) => tag.name === tags[0])?.description, name).to.match(/\.$/);
      // The contract has no sign for the credential of a client that registered itself.
      const ofClient = path.startsWith("/oauth2/clients/");
      expect(security.length === 0, name).to.equal(open === true && !ofClient);
      const named = parameters.filter((each) => each.in === "path");
      expect(
        named.map((each) => each.name),
        name,
      ).to.have.members([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
      for (const { required } of named) expect(required, name).to.equal(true);
      for (const parameter of parameters) expect(parameter.description, `${name}: ${parameter.name}`).to.be.a("string");

      expect(responses, name).to.include.keys(String(status), "429", "500", "503");
      expect("304" in responses, name).to.equal(modifying.has(name));
      expect("413" in responses && "415" in responses, name).to.equal(operation.requestBody !== undefined);
      if (!open) expect(responses, name).to.include.keys("401", "403");
      if (named.length > 0) expect(responses, name).to.include.keys("400", "404");
    }
  });

  it("describes failures once, with examples", () => {
    const { responses } = described.document.components;
    const used = new Set(described.operations.flatMap(({ operation }) => Object.values(operation.responses)));
    const referred = new Set([...used].flatMap(({ $ref }) => $ref?.split("/").at(-1) ?? []));
    expect([...referred]).to.have.members(Object.keys(responses));
    for (const { content } of Object.values(responses)) {
      const { schema, example } = content!["application/json"]!;
      const isFailure = described.validator(schema);
      expect(isFailure(example), JSON.stringify(isFailure.errors)).to.equal(true);
    }
  });

  it("requires scopes that exist", async () => {
    const { external } = (await w().nobody.get("/api/v2/auth/scopes")).body;
    const required = new Set(described.operations.flatMap(({ operation }) => operation["x-required-scopes"] ?? []));
    expect([...required]).to.include("group:read");
    expect(external).to.include.members([...required]);
  });

  it("lists the body fields of the contract", () => {
    for (const { name, operation } of described.operations) {
      const fields = described.bodyOf(operation)?.properties ?? {};
      expect(Object.keys(fields), name).to.have.members(Object.keys(contract.get(name)!.request?.properties ?? {}));
    }
  });

  it("names each thing, and describes it with all of its fields", () => {
    const { schemas } = described.document.components;
    expect(schemas).to.include.keys("Group", "GroupMember", "User", "InboxNotification", "License", "UserSecret");
    const silent = Object.entries(schemas).flatMap(([name, schema]) => [
      ...(schema.description || name.endsWith("Request") ? [] : [name]),
      ...Object.entries(schema.properties ?? {})
        .filter(([, each]) => !each.description)
        .map(([field]) => `${name}.${field}`),
    ]);
    expect(silent).to.deep.equal([]);
  });

  it("states the limits that the descriptions of inputs mention", () => {
    const keywords = ["minimum", "maximum", "minLength", "maxLength", "maxItems", "maxProperties", "propertyNames"];
    const isLimited = (schema: Schema) => keywords.some((keyword) => keyword in schema);
    const inputs = described.operations.flatMap(({ name, operation }) => [
      ...(operation.parameters ?? []).map((each) => [`${name} ${each.name}`, each.schema, each.description] as const),
      ...Object.entries(described.bodyOf(operation)?.properties ?? {}).map(
        ([field, schema]) => [`${name} ${field}`, schema, schema.description] as const,
      ),
    ]);
    const unlimited = inputs.filter(
      ([, schema, text = ""]) => /\bat most \d|\d to \d/i.test(text) && !isLimited(schema),
    );
    expect(unlimited.map(([name]) => name)).to.deep.equal([]);
    expect(inputs.filter(([, schema]) => isLimited(schema)).length).to.be.greaterThan(20);
  });

  for (const [what, path, headers] of [
    ["the API reference", "/docs", {}],
    ["GraphiQL", "/graphql", { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" }],
  ] as const) {
    it(`comes with ${what}, a page that loads only its own assets under a strict content security policy`, async () => {
      const page = await w().nobody.get(path, headers);
      expect(page).to.include({ status: 200 });
      expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
      const policy = new Map(
        page.headers
          .get("content-security-policy")!
          .split("; ")
          .map((rule) => [rule.split(" ")[0], rule.split(" ").slice(1)]),
      );
      expect(policy.get("default-src")).to.deep.equal(["'none'"]);
      expect(policy.get("frame-ancestors")).to.deep.equal(["'none'"]);
      expect(policy.get("base-uri")).to.deep.equal(["'none'"]);
      expect(policy.get("connect-src")).to.deep.equal(["'self'"]);
      expect(policy.get("script-src")).to.deep.equal(["'self'", "blob:"]);
      expect([...policy.values()].flat().filter((source) => /http|\*|eval/.test(source))).to.deep.equal([]);

      const text = page.body as string;
      expect(text).to.not.match(/<script(?![^>]*\ssrc=)|\son\w+=|https?:\/\//i);
      const parts = [...text.matchAll(/<(?:link|script|img)\b[^>]*?(?:src|href)="([^"]+)"/g)]
        .map((match) => match[1]!)
        .filter((each) => !each.startsWith("data:"));
      expect(parts.length).to.be.greaterThan(2);
      for (const part of parts) {
        expect(part).to.match(/^\/assets\//);
        const asset = await w().nobody.get(part);
        expect(asset, part).to.include({ status: 200 });
        expect(asset.headers.get("content-type"), part).to.match(/^text\/(javascript|css); charset=utf-8$/);
        expect(asset.headers.get("cache-control"), part).to.include("immutable");
        expect((asset.body as string).length, part).to.be.greaterThan(50);
      }
    });
  }

  it("comes with pages that expose no other files", async () => {
    const page = (await w().nobody.get("/docs")).body as string;
    const folder = /"(\/assets\/\w+\/)explorer\.css"/.exec(page)![1]!;
    for (const path of [
      "/assets/",
      folder,
      `${folder}constructor`,
      `${folder}../package.json`,
      `${folder}%2e%2e/package.json`,
    ]) {
      expect(await w().nobody.get(path), path).to.include({ status: 404 });
    }
  });
});
