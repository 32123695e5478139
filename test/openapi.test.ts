// The OpenAPI description of the REST API, and the pages that present it.
import { expect } from "chai";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { contract, modifying, mounted } from "./contract/contract.js";
import { world } from "./support/world.js";

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: object;
}

interface Described {
  operationId: string;
  description?: string;
  tags: string[];
  security: Array<Record<string, string[]>>;
  parameters?: Parameter[];
  requestBody?: { content: { "application/json": { schema: { properties: object } } } };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  servers: Array<{ url: string }>;
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, object>; securitySchemes: object };
}

describe("the OpenAPI description", () => {
  const w = world();
  let document: Document;
  let operations: Array<{ name: string; path: string; described: Described }>;
  before(async () => {
    const answer = await w().nobody.get("/openapi.json");
    expect(answer.headers.get("content-type")).to.equal("application/json; charset=utf-8");
    document = answer.body as Document;
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({
        name: `${method.toUpperCase()} ${path}`,
        path,
        described,
      })),
    );
  });

  it("is OpenAPI 3.1, and names this server", () => {
    expect(document.openapi).to.match(/^3\.1\.\d$/);
    expect(document.info.title).to.equal("Steward");
    expect(document.info.version).to.match(/^\d+\.\d+\.\d+/);
    expect(document.servers).to.deep.equal([{ url: w().app.services.config.accessUrl }]);
  });

  it("covers every route exactly once", () => {
    expect(operations.map(({ name }) => name)).to.have.members(mounted.map(({ name }) => name));
    const ids = operations.map(({ described }) => described.operationId);
    expect(ids).to.have.length(new Set(ids).size);
  });

  it("gives each operation its statuses, a description, and its parameters", () => {
    for (const { name, path, described } of operations) {
      const { status, open } = contract.get(name)!;
      const statuses = [String(status), ...(modifying.has(name) ? ["304"] : []), "default"];
      expect(Object.keys(described.responses), name).to.deep.equal(statuses);
      for (const { description } of Object.values(described.responses)) expect(description, name).to.be.a("string");
      expect(described.description, name).to.match(/\.$/);
      expect(described.security.length === 0, name).to.equal(open === true);
      const named = (described.parameters ?? []).filter((each) => each.in === "path");
      expect(
        named.map((each) => each.name),
        name,
      ).to.have.members([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
      for (const { required } of named) expect(required, name).to.equal(true);
    }
  });

  it("lists the body fields of the contract", () => {
    for (const { name, described } of operations) {
      const { request } = contract.get(name)!;
      const schema = described.requestBody?.content["application/json"].schema;
      expect(Object.keys(schema?.properties ?? {}), name).to.have.members(Object.keys(request?.properties ?? {}));
    }
  });

  it("holds valid schemas whose references resolve", () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    formats.default(ajv);
    for (const format of ["int32", "int64"]) ajv.addFormat(format, true);
    ajv.addKeyword("components");
    const schemas = operations.flatMap(({ name, described }) => [
      ...(described.parameters ?? []).map(({ schema }) => [name, schema] as const),
      ...Object.values(described.requestBody?.content ?? {}).map(({ schema }) => [name, schema] as const),
      ...Object.values(described.responses).flatMap(({ content = {} }) =>
        Object.values(content).map(({ schema }) => [name, schema] as const),
      ),
    ]);
    expect(schemas.length).to.be.greaterThan(operations.length);
    for (const [name, schema] of schemas) {
      expect(() => ajv.compile({ ...schema, components: document.components } as never), name).to.not.throw();
    }
  });

  it("matches real responses", async () => {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    const group = await w().group(undefined, { members: [w().owner] });
    for (const [path, real] of [
      ["/api/v2/groups/{group}", `/api/v2/groups/${group.id}`],
      ["/api/v2/groups", "/api/v2/groups"],
      ["/api/v2/groups/{group}/members", `/api/v2/groups/${group.id}/members`],
      ["/api/v2/notifications/inbox", "/api/v2/notifications/inbox"],
    ] as const) {
      const { body } = await w().as(w().owner).get(real);
      const accepts = ajv.compile(document.paths[path]!.get!.responses["200"]!.content!["application/json"]!.schema);
      expect(accepts(body), JSON.stringify([accepts.errors, body])).to.equal(true);
    }
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
