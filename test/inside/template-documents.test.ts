// Template documents, parameters, and reported resources, as the domain checks them: without a server.
// Looks inside: documents are parsed by pure functions, with a case for each rule.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { Problems, type Validation } from "../../src/domain/kernel/errors.js";
import {
  documentJsonSchema,
  parseDocument,
  type TemplateDocument,
} from "../../src/domain/templates/template-documents.js";
import { type ParameterSources, resolveParameters } from "../../src/domain/templates/parameters.js";
import { patternProblem, sizeOf } from "../../src/domain/templates/parameter-values.js";
import { parseReported } from "../../src/domain/templates/reported-versions.js";
import { withReference } from "../../tools/emit-reference.js";

const example = {
  schema: "steward.template/1",
  provisioner: "process",
  parameters: [{ name: "model", default: "small" }],
  ai_task: { agent: "main", app: "chat" },
  resources: [
    {
      name: "box",
      daily_cost: 5,
      agents: [
        {
          name: "main",
          os: "linux",
          arch: "amd64",
          command: ["node", "chat.mjs", "--port", "${port.chat}", "--model", "${param.model}"],
          apps: [
            {
              slug: "chat",
              url: "http://${host.address}:${port.chat}",
              healthcheck: { url: "http://${host.address}:${port.chat}/status" },
            },
          ],
        },
      ],
    },
  ],
};

/** A part of the JSON Schema. */
interface Described {
  properties?: Record<string, Described>;
  items?: Described;
}

const echo = { schema: "steward.template/1", provisioner: "echo" };
const agent = { name: "main", os: "linux", arch: "amd64" };
const withAgent = (members: object) => ({ ...echo, resources: [{ name: "box", agents: [{ ...agent, ...members }] }] });
const withParameter = (members: object) => ({ ...echo, parameters: [{ name: "p", ...members }] });

function faultsOf(value: unknown): Validation[] {
  const problems = new Problems();
  const document = parseDocument(value, problems);
  expect(document === undefined).to.equal(!problems.isEmpty);
  return [...problems.found];
}

const fieldsOf = (value: unknown): string[] => faultsOf(value).map(({ field }) => field);

function parsed(value: unknown): TemplateDocument {
  const problems = new Problems();
  const document = parseDocument(value, problems);
  expect(problems.found).to.deep.equal([]);
  return document!;
}

describe("template documents", () => {
  it("get the defaults of the format", () => {
    const document = parsed(example);
    const [resource] = document.resources;
    const [main] = resource!.agents;
    expect(document).to.deep.include({ tags: {}, variables: [], presets: [], source: undefined });
    expect(document.parameters[0]).to.deep.include({ type: "string", mutable: true, ephemeral: false, options: [] });
    expect(resource).to.deep.include({ type: "", hide: false, daily_cost: 5, transitions: ["start"], metadata: [] });
    expect(main).to.deep.include({
      directory: "",
      env: {},
      restart: "never",
      external: false,
      connection_timeout_seconds: 120,
      startup_script_behavior: "non-blocking",
      display_apps: [],
      scripts: [],
    });
    expect(main!.apps[0]).to.deep.include({ open_in: "slim-window", sharing_level: "owner", hidden: false });
    expect(main!.apps[0]!.healthcheck).to.deep.include({ interval: 5, threshold: 3 });
  });

  it("report an unknown member, a bad slug, and an undeclared variable as three faults", () => {
    const document = structuredClone(example) as Record<string, unknown> & typeof example;
    const [main] = document.resources[0]!.agents;
    document.color = "red";
    main!.apps[0]!.slug = "Chat!";
    main!.command.push("${var.x}");
    expect(fieldsOf(document)).to.have.members([
      "document.color",
      "document.resources[0].agents[0].apps[0].slug",
      "document.resources[0].agents[0].command[6]",
    ]);
  });

  it("name the fault and the path of what violates a rule", () => {
    const cases: Array<[object | null | string, string[]]> = [
      [null, ["document"]],
      ["text", ["document"]],
      [[], ["document"]],
      [{}, ["document.schema", "document.provisioner"]],
      [{ ...echo, schema: "steward.template/2" }, ["document.schema"]],
      [{ ...echo, provisioner: "Echo" }, ["document.provisioner"]],
      [{ ...echo, resources: {} }, ["document.resources"]],
      [{ ...echo, resources: [null, 5] }, ["document.resources[0]", "document.resources[1]"]],
      [{ ...echo, resources: [{ name: "a" }, { name: "a" }] }, ["document.resources[1].name"]],
      [{ ...echo, resources: [{ name: "a", daily_cost: -1 }] }, ["document.resources[0].daily_cost"]],
      [{ ...echo, resources: [{ name: "a", daily_cost: 1.5 }] }, ["document.resources[0].daily_cost"]],
      [{ ...echo, resources: [{ name: "a", transitions: ["delete"] }] }, ["document.resources[0].transitions[0]"]],
      [{ ...echo, resources: ["a", "b"].map((name) => ({ name, daily_cost: 2_000_000_000 })) }, ["document.resources"]],
      [{ ...echo, tags: { owner: "x" } }, ["document.tags.owner"]],
      [{ ...echo, tags: { scope: "all", a: 5 } }, ["document.tags.scope", "document.tags.a"]],
      [withAgent({ name: "Main" }), ["document.resources[0].agents[0].name"]],
      [withAgent({ os: undefined }), ["document.resources[0].agents[0].os"]],
      [withAgent({ arch: "mips" }), ["document.resources[0].agents[0].arch"]],
      [withAgent({ env: { "9": "x", A: 1 } }), ["9", "A"].map((key) => `document.resources[0].agents[0].env.${key}`)],
      [withAgent({ command: "ls" }), ["document.resources[0].agents[0].command"]],
      [withAgent({ apps: [{ slug: "a" }, { slug: "a" }] }), ["document.resources[0].agents[0].apps[1].slug"]],
      [withAgent({ apps: [{ slug: "a", url: "javascript:x" }] }), ["document.resources[0].agents[0].apps[0].url"]],
      [
        withAgent({ scripts: [{}] }),
        ["display_name", "script"].map((name) => `document.resources[0].agents[0].scripts[0].${name}`),
      ],
      ...["each day", "99 * * * *", "0 0 31 13 *", "0 0 * * FOO", "*/0 * * * *", "0 5-1 * * *"].map(
        (cron): [object, string[]] => [
          withAgent({ scripts: [{ display_name: "x", script: "x", cron }] }),
          ["document.resources[0].agents[0].scripts[0].cron"],
        ],
      ),
      [
        { ...echo, resources: ["a", "b"].map((name) => ({ name, agents: [agent] })) },
        ["document.resources[1].agents[0].name"],
      ],
      [{ ...withAgent({}), ai_task: { agent: "other", app: "x" } }, ["document.ai_task.agent"]],
      [{ ...withAgent({}), ai_task: { agent: "main", app: "x" } }, ["document.ai_task.app"]],
      [{ ...withAgent({ apps: [{ slug: "x" }] }), ai_task: { agent: "main", app: "x" } }, ["document.ai_task.app"]],
      [{ ...echo, variables: [{ name: "a" }, { name: "a" }] }, ["document.variables[1].name"]],
      [{ ...echo, variables: [{ name: "a", type: "number", default: "x" }] }, ["document.variables[0].default"]],
      [{ ...echo, source: { deep: ["\0"] } }, ["document.source"]],
    ];
    for (const [document, fields] of cases) expect(fieldsOf(document), JSON.stringify(document)).to.deep.equal(fields);
  });

  it("have limits of resources, as numbers or texts, with all faults of them named", () => {
    const limited = (limits: unknown) => ({
      ...echo,
      parameters: [{ name: "p", default: "2" }],
      resources: [{ name: "box", limits }],
    });
    const valid = [
      {},
      { memory: "1MiB", cpus: 0.01, processes: 1 },
      { memory: "1024TiB", cpus: 1024, processes: 4_194_304, required: true },
      { memory: "1024KiB", cpus: "1.25", processes: "512" },
      { memory: "", cpus: "", processes: "" },
      { memory: "${param.p}GiB", cpus: "${param.p}.5", processes: "${param.p}" },
    ];
    for (const limits of valid) expect(fieldsOf(limited(limits)), JSON.stringify(limits)).to.deep.equal([]);
    expect(parsed(limited({ memory: "2GiB" })).resources[0]!.limits).to.deep.equal({ memory: "2GiB", required: false });
    const invalid = {
      memory: [5, "2", "2GB", "0GiB", "1023KiB", "1025TiB", "1.5GiB", "-1GiB", "${param.q}GiB", "${param.p"],
      cpus: [true, 0, 0.001, 1.005, -1, 1025, 1e-7, "0.001", "1e2", "two", "${param.q}"],
      processes: [[], 0, 1.5, 4_194_305, "0", "1.5", "-1", "${var.p}"],
      required: ["yes", 1],
      disk: ["2GiB"],
    };
    for (const [name, values] of Object.entries(invalid))
      for (const value of values)
        expect(fieldsOf(limited({ [name]: value })), `${name}: ${JSON.stringify(value)}`).to.deep.equal([
          `document.resources[0].limits.${name}`,
        ]);
    expect(faultsOf(limited({ memory: "big", cpus: 0, processes: true }))).to.deep.equal([
      {
        field: "document.resources[0].limits.memory",
        detail: "Must be a whole number with its unit KiB, MiB, GiB, or TiB, such as 2GiB, from 1MiB to 1024TiB.",
      },
      {
        field: "document.resources[0].limits.cpus",
        detail: "Must be a number from 0.01 to 1024 with at most 2 decimals.",
      },
      { field: "document.resources[0].limits.processes", detail: "Must be a whole number from 1 to 4194304." },
    ]);
    expect(fieldsOf(limited("2GiB"))).to.deep.equal(["document.resources[0].limits"]);
  });

  it("reject faulty parameters and presets", () => {
    const cases: Array<[object, string[]]> = [
      [withParameter({ name: "1st" }), ["document.parameters[0].name"]],
      [withParameter({ type: "number", default: "x" }), ["document.parameters[0].default"]],
      [withParameter({ type: "list", default: [1] }), ["document.parameters[0].default"]],
      [withParameter({ type: "bool", default: 1 }), ["document.parameters[0].default"]],
      [withParameter({ ephemeral: true }), ["document.parameters[0].default"]],
      [
        withParameter({ default: "c", options: ["a", "b"].map((name) => ({ name, value: name })) }),
        ["document.parameters[0].default"],
      ],
      [
        withParameter({ options: ["a", "b"].map((name) => ({ name, value: "x" })) }),
        ["document.parameters[0].options[1].value"],
      ],
      [withParameter({ validation: { regex: "(" } }), ["document.parameters[0].validation.regex"]],
      [withParameter({ validation: { regex: "a(?=b)" } }), ["document.parameters[0].validation.regex"]],
      [withParameter({ validation: { min: 1 } }), ["document.parameters[0].validation.min"]],
      [withParameter({ type: "number", validation: { min: 2, max: 1 } }), ["document.parameters[0].validation.max"]],
      [withParameter({ type: "number", default: 9, validation: { max: 8 } }), ["document.parameters[0].default"]],
      [withParameter({ default: "B", validation: { regex: "^[a-z]$" } }), ["document.parameters[0].default"]],
      [{ ...echo, parameters: [{ name: "a" }, { name: "a" }] }, ["document.parameters[1].name"]],
      [{ ...echo, presets: [{ name: "a", parameters: { x: "1" } }] }, ["document.presets[0].parameters.x"]],
      [
        { ...withParameter({ type: "number" }), presets: [{ name: "a", parameters: { p: "x" } }] },
        ["document.presets[0].parameters.p"],
      ],
      [
        { ...withParameter({}), presets: [{ name: "a", prebuilds: { instances: 1 } }] },
        ["document.presets[0].parameters.p"],
      ],
      [
        { ...echo, presets: [{ name: "a", prebuilds: { instances: 51 } }] },
        ["document.presets[0].prebuilds.instances"],
      ],
      [{ ...echo, presets: ["a", "b"].map((name) => ({ name, default: true })) }, ["document.presets[1].default"]],
      [{ ...echo, presets: [{ name: "a" }, { name: "a" }] }, ["document.presets[1].name"]],
      [
        { ...withAgent({ external: true }), presets: [{ name: "a", prebuilds: { instances: 1 } }] },
        ["document.presets[0].prebuilds"],
      ],
    ];
    for (const [document, fields] of cases) expect(fieldsOf(document), JSON.stringify(document)).to.deep.equal(fields);
  });

  it("keep values of each type as text", () => {
    const document = parsed({
      ...echo,
      parameters: [
        { name: "a", type: "number", default: 1.5 },
        { name: "b", type: "bool", default: false },
        {
          name: "c",
          type: "list",
          default: ["x", "y"],
          options: ["x", "y", "z"].map((name) => ({ name, value: name })),
        },
        { name: "d", type: "number", default: "7" },
      ],
      presets: [{ name: "all", parameters: { a: 2, b: true, c: ["z"] } }],
    });
    expect(document.parameters.map((each) => each.default)).to.deep.equal(["1.5", "false", '["x","y"]', "7"]);
    expect(document.presets[0]!.parameters).to.deep.equal({ a: "2", b: "true", c: '["z"]' });
  });

  it("refer only to what exists, and to ports and hosts only for the process provisioner", () => {
    const command = (...elements: string[]) => ({
      ...withAgent({ command: elements }),
      parameters: [{ name: "p" }],
      variables: [{ name: "v" }],
    });
    const known = [
      "param.p",
      "var.v",
      "workspace.id",
      "workspace.name",
      "workspace.owner",
      "workspace.owner_id",
      "task.id",
      "task.prompt",
    ];
    parsed(command(...known.map((name) => `\${${name}}`), "$${param.no}", "$", "{}", "$$", "a${param.p}${var.v}b"));
    const unknown = [
      "param.no",
      "var.p",
      "workspace.x",
      "task",
      "",
      "port.a",
      "host.address",
      "param.p.x",
      "env.HOME",
      "constructor",
    ];
    for (const name of unknown)
      expect(fieldsOf(command(`\${${name}}`)), name).to.deep.equal(["document.resources[0].agents[0].command[0]"]);
    expect(fieldsOf(command("${param.p"))).to.have.length(1);
    expect(fieldsOf({ ...command("${port.a}", "${host.address}"), provisioner: "process" })).to.deep.equal([]);
    expect(fieldsOf({ ...command("${port.}", "${host.name}"), provisioner: "process" })).to.have.length(2);
    const script = withAgent({ scripts: [{ display_name: "Set up", script: "echo ${HOME}" }] });
    expect(fieldsOf(script)).to.deep.equal([]);
  });

  it("are bounded in size, depth, and number of entries", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(faultsOf({ ...echo, source: deep })).to.deep.equal([
      { field: "document", detail: "Must be nested at most 32 levels deep." },
    ]);
    expect(faultsOf({ ...echo, source: "x".repeat(256 * 1024) })).to.deep.equal([
      { field: "document", detail: "Must be at most 256 KiB of JSON." },
    ]);
    const many = (length: number) => Array.from({ length }, (_, n) => ({ name: `n${n}` }));
    expect(fieldsOf({ ...echo, resources: many(100), parameters: many(100), presets: many(50) })).to.deep.equal([]);
    for (const [name, most] of [
      ["resources", 100],
      ["parameters", 100],
      ["presets", 50],
      ["variables", 100],
    ] as const)
      expect(fieldsOf({ ...echo, [name]: many(most + 1) }), name).to.deep.equal([`document.${name}`]);
    const agents = (length: number) => many(length).map((each) => ({ ...agent, ...each }));
    expect(fieldsOf({ ...echo, resources: [{ name: "a", agents: agents(20) }] })).to.deep.equal([]);
    expect(
      fieldsOf({
        ...echo,
        resources: [
          { name: "a", agents: agents(10) },
          { name: "b", agents: agents(21).slice(10) },
        ],
      }),
    ).to.deep.equal(["document.resources"]);
    const apps = Array.from({ length: 51 }, (_, n) => ({ slug: `n${n}` }));
    expect(fieldsOf(withAgent({ apps }))).to.deep.equal(["document.resources[0].agents[0].apps"]);
  });

  it("report at most 1000 faults of a document that has more", () => {
    const unknown = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 0]));
    const parameters = [{ name: "p", validation: { regex: "(" }, default: "x" }];
    expect(faultsOf({ ...unknown, ...echo, parameters })).to.have.length(1000);
  });

  it("cannot reach the prototypes of objects", () => {
    const hostile = JSON.parse(`{ "schema": "steward.template/1", "provisioner": "echo", "__proto__": { "x": 1 },
      "constructor": {}, "parameters": [{ "name": "__proto__", "default": "a" }, { "name": "toString", "default": "b" }],
      "resources": [{ "name": "__proto__", "agents": [{ "name": "main", "os": "linux", "arch": "amd64",
        "env": { "__proto__": "polluted", "constructor": "c" } }] }] }`);
    expect(fieldsOf(hostile)).to.deep.equal(["document.__proto__", "document.constructor"]);
    delete hostile.constructor;
    Reflect.deleteProperty(hostile, "__proto__");
    const document = parsed(hostile);
    expect(Object.entries(document.resources[0]!.agents[0]!.env)).to.deep.equal([
      ["__proto__", "polluted"],
      ["constructor", "c"],
    ]);
    const values = resolveParameters(document, { previous: {}, preset: { parameters: {} } }, new Problems());
    expect(Object.entries(values)).to.deep.equal([
      ["__proto__", "a"],
      ["toString", "b"],
    ]);
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
  });

  it("reject text that cannot be stored, wherever it is", () => {
    for (const text of ["\0", "\ud800"]) {
      const document = withAgent({ directory: `/${text}`, env: { A: text }, troubleshooting_url: `http://x/${text}` });
      expect(fieldsOf(document)).to.have.length(3);
      expect(fieldsOf({ ...echo, resources: [{ name: text }], tags: { [text]: "x" } })).to.have.length(2);
      expect(fieldsOf({ ...echo, source: { [text]: 1 } })).to.deep.equal(["document.source"]);
    }
  });

  it("have a JSON Schema that accepts valid ones, and finds members that are missing, unknown, or of a wrong type", () => {
    const isValid = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(documentJsonSchema());
    const full = { ...example, tags: { scope: "user", a: "b" }, presets: [{ name: "a", parameters: { model: "x" } }] };
    for (const document of [example, echo, full, withAgent({ env: { A: "1" } }), withParameter({ default: ["x"] })])
      expect(isValid(document), JSON.stringify(isValid.errors)).to.equal(true);
    for (const document of [
      [],
      {},
      { ...echo, schema: "steward.template/2" },
      { ...echo, color: "red" },
      { ...echo, tags: { scope: "all" } },
      withAgent({ os: undefined }),
      withAgent({ name: "Main" }),
      withAgent({ env: { A: 1 } }),
      withAgent({ apps: [{ slug: "a", healthcheck: {} }] }),
      withParameter({ type: "text" }),
      { ...echo, parameters: Array.from({ length: 101 }, (_, n) => ({ name: `p${n}` })) },
    ])
      expect(isValid(document), JSON.stringify(document)).to.equal(false);
  });

  it("have a reference, which is what npm run reference writes, and an example in it that is valid", () => {
    const page = readFileSync("docs/template-documents.md", "utf8");
    expect(withReference(page)).to.equal(page);
    const [, shown] = /```json\n([^]*?)```/.exec(page)!;
    expect(faultsOf(JSON.parse(shown!))).to.deep.equal([]);
    const { properties } = documentJsonSchema() as unknown as Described;
    // Every member has a section of its own, or a row in one.
    const membersOf = ({ properties: members = {}, items }: Described): string[] =>
      Object.entries({ ...members, ...items?.properties }).flatMap(([name, each]) => [name, ...membersOf(each)]);
    // Tags are a map, whose row says what `scope` is.
    for (const name of membersOf({ properties: { ...properties, tags: {} } }))
      expect(page).to.include(`| \`${name}\` |`);
    expect(page).to.include("### `resources[].agents[].apps[].healthcheck`");
  });

  it("may name the JSON Schema for editors, which is not stored", () => {
    const $schema = "http://localhost:3000/schemas/steward.template-1.json";
    expect(parsed({ $schema, ...echo })).to.deep.equal(parsed(echo));
    expect(parsed({ $schema, ...echo })).to.not.have.property("$schema");
    expect(fieldsOf({ $schema: 5, ...echo })).to.deep.equal(["document.$schema"]);
  });

  it("survive any value in any place", () => {
    const values = [null, true, 0, -1, Infinity, "", "x", [], [[]], {}, { x: 1 }, [null], "${", "$${", "\u2028"];
    const visit = (at: unknown, put: (value: unknown) => unknown): void => {
      for (const value of values) faultsOf(put(value));
      if (typeof at !== "object" || at === null) return;
      for (const [key, each] of Object.entries(at))
        visit(each, (value) => put(Array.isArray(at) ? at.with(Number(key), value) : { ...at, [key]: value }));
    };
    const full = {
      ...example,
      variables: [{ name: "v", type: "number", default: 1 }],
      parameters: [
        {
          name: "model",
          default: "small",
          options: [{ name: "Small", value: "small" }],
          validation: { regex: "^s", error: "no" },
        },
        { name: "n", type: "number", default: 2, validation: { min: 1, max: 3, monotonic: "increasing" } },
      ],
      presets: [{ name: "a", default: true, parameters: { n: 2 }, prebuilds: { instances: 2, ttl_seconds: 60 } }],
      source: { any: ["thing"] },
    };
    expect(fieldsOf(full)).to.deep.equal([]);
    visit(full, (value) => value);
  });
});

describe("regular expressions of parameters", () => {
  it("are estimated in size before they are compiled", () => {
    for (const [pattern, size] of [
      ["^[a-z]+$", 4],
      ["a{10}", 10],
      ["(ab){10}", 40],
      ["\\{1000}", 6],
      ["[(){9}]", 1],
      ["\\Q(a{9}\\E", 9],
    ] as const)
      expect(sizeOf(pattern), pattern).to.equal(size);
    for (const pattern of [
      "(((a{40}){25}))",
      "x{1000}y{1000}",
      "(?:[a-z]{0,63}\\.){20}",
      `${"(a|b)".repeat(90)}{9}${"c{500}".repeat(2)}`,
    ])
      expect(patternProblem(pattern), pattern).to.be.a("string");
    for (const pattern of [
      "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
      "^\\d{1,3}(\\.\\d{1,3}){3}$",
      "(?i)^yes|no$",
      "\\pL+",
    ])
      expect(patternProblem(pattern), pattern).to.equal(undefined);
  });

  it("match in linear time", () => {
    const { parameters } = parsed(withParameter({ validation: { regex: "^(a+)+$" } }));
    const problems = new Problems();
    resolveParameters({ parameters }, { given: [{ name: "p", value: `${"a".repeat(8000)}!` }] }, problems);
    expect(problems.found.map(({ field }) => field)).to.deep.equal(["parameters.p"]);
  });

  it("are bounded together", () => {
    const parameters = Array.from({ length: 6 }, (_, n) => ({ name: `p${n}`, validation: { regex: "a{900}" } }));
    expect(fieldsOf({ ...echo, parameters })).to.deep.equal(["document.parameters"]);
  });
});

describe("parameters of builds", () => {
  const { parameters } = parsed({
    ...echo,
    parameters: [
      { name: "plain", default: "d" },
      { name: "fixed", default: "d", mutable: false },
      { name: "once", default: "d", ephemeral: true },
      { name: "needed" },
      { name: "size", type: "number", default: 5, validation: { min: 1, max: 9, monotonic: "increasing" } },
      { name: "kind", default: "a", options: ["a", "b"].map((name) => ({ name, value: name })) },
    ],
  });
  const resolve = (sources: ParameterSources) => {
    const problems = new Problems();
    const values = resolveParameters({ parameters }, sources, problems);
    return { values, faults: problems.found.map(({ field }) => field) };
  };
  const given = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }));

  it("are the given ones, else those of the previous build, of the preset, or the defaults", () => {
    const all = (value: string) => ({ plain: value, fixed: value, once: value, needed: value });
    const preset = { parameters: { ...all("preset"), size: "6" } };
    const previous = all("previous");
    expect(resolve({ given: given({ needed: "x" }) }).values).to.deep.equal({
      ...all("d"),
      needed: "x",
      size: "5",
      kind: "a",
    });
    expect(resolve({ preset }).values).to.deep.equal({ ...all("preset"), size: "6", kind: "a" });
    expect(resolve({ preset, previous }).values).to.deep.include({ ...all("previous"), once: "preset" });
    expect(resolve({ preset, previous, given: given({ plain: "", once: "x" }) }).values).to.deep.include({
      plain: "",
      once: "x",
    });
  });

  it("report each missing, unknown, repeated, invalid, or changed value by its name", () => {
    expect(resolve({}).faults).to.deep.equal(["parameters.needed"]);
    const needed = { needed: "x" };
    const faults = (values: Record<string, string>, previous?: Record<string, string>) =>
      resolve({ given: given({ ...needed, ...values }), ...(previous && { previous }) }).faults;
    expect(faults({ other: "x" })).to.deep.equal(["parameters.other"]);
    expect(resolve({ given: [...given(needed), ...given(needed)] }).faults).to.deep.equal(["parameters.needed"]);
    for (const size of ["0", "10", "x", "1e3", "", " 5"])
      expect(faults({ size }), size).to.deep.equal(["parameters.size"]);
    expect(faults({ kind: "c", plain: "\0" })).to.deep.equal(["parameters.plain", "parameters.kind"]);
    expect(faults({ plain: "é".repeat(4097) })).to.deep.equal(["parameters.plain"]);
    expect(faults({ fixed: "other" }, { fixed: "d" })).to.deep.equal(["parameters.fixed"]);
    expect(faults({ fixed: "d" }, { fixed: "d" })).to.deep.equal([]);
    expect(faults({ size: "4" }, { size: "5" })).to.deep.equal(["parameters.size"]);
    expect(faults({ size: "6" }, { size: "5" })).to.deep.equal([]);
    expect(faults({}, { kind: "gone" })).to.deep.equal(["parameters.kind"]);
  });
});

describe("reported resources", () => {
  const document = parsed({
    ...example,
    resources: [
      ...example.resources,
      { name: "disk", transitions: ["start", "stop"], metadata: [{ key: "Size", value: "$${x} ${workspace.name}" }] },
    ],
  });
  const rendered = (change: (agent: Record<string, unknown>) => void = () => {}) => {
    const main = structuredClone(example.resources[0]!.agents[0]!);
    main.command = ["node", "chat.mjs", "--port", "41234", "--model", "small"];
    main.apps[0]!.url = "http://127.0.0.1:41234";
    main.apps[0]!.healthcheck.url = "http://127.0.0.1:41234/status";
    change(main);
    return [
      { name: "disk", transitions: ["start", "stop"], metadata: [{ key: "Size", value: "${x} my-box" }] },
      { name: "box", daily_cost: 5, agents: [main] },
    ];
  };
  const report = (resources: unknown[], transition: "start" | "stop" | "delete" = "start") => {
    const problems = new Problems();
    const found = parseReported(document, transition, resources, problems);
    return { found, faults: problems.found.map(({ field }) => field) };
  };

  it("are those of the document for the transition, with their references replaced", () => {
    const { found, faults } = report(rendered());
    expect(faults).to.deep.equal([]);
    expect(found.map(({ name }) => name)).to.deep.equal(["box", "disk"]);
    expect(found[0]!.agents[0]!.command.at(-1)).to.equal("small");
    expect(found[0]!.agents[0]!.apps[0]).to.include({ url: "http://127.0.0.1:41234", sharing_level: "owner" });
    expect(report([rendered()[0]], "stop"))
      .to.have.property("faults")
      .that.deep.equals([]);
    expect(report([], "delete").faults).to.deep.equal([]);
  });

  it("have limits whose references were replaced by amounts, and numbers as they are", () => {
    const limited = parsed({
      ...echo,
      parameters: [{ name: "p", default: "2" }],
      resources: [{ name: "box", limits: { memory: "${param.p}GiB", cpus: "${param.p}", processes: 512 } }],
    });
    const faults = (limits: object) => {
      const problems = new Problems();
      parseReported(limited, "start", [{ name: "box", limits }], problems);
      return problems.found.map(({ field }) => field);
    };
    expect(faults({ memory: "4GiB", cpus: "4", processes: 512 })).to.deep.equal([]);
    expect(faults({ memory: "4TiB", cpus: "4", processes: 512 })).to.deep.equal(["resources[0].limits.memory"]);
    expect(faults({ memory: "GiB", cpus: "4", processes: 512 })).to.deep.equal(["resources[0].limits.memory"]);
    expect(faults({ memory: "4GiB", cpus: 4, processes: 9 })).to.have.length(2);
    expect(faults({ memory: "4GiB", cpus: "4", processes: 512, required: true })).to.have.length(1);
  });

  it("may differ from the document in nothing else", () => {
    expect(report([]).faults).to.deep.equal(["resources", "resources"]);
    expect(report([rendered()[0], ...rendered()]).faults).to.deep.equal(["resources[0].name"]);
    expect(report(rendered(), "stop").faults).to.deep.equal(["resources[1].name"]);
    expect(report([null, 5, "x"]).faults).to.deep.equal(["resources[0]", "resources[1]", "resources[2]"]);
    const cheap = rendered().map((each) => ("daily_cost" in each ? { ...each, daily_cost: 0 } : each));
    expect(report(cheap).faults).to.deep.equal(["resources[1].daily_cost"]);
    const changes: Array<[(main: Record<string, unknown>) => void, string]> = [
      [(main) => (main.os = "windows"), "os"],
      [(main) => (main.external = true), "external"],
      [(main) => (main.env = { EXTRA: "1" }), "env.EXTRA"],
      [(main) => (main.command = []), "command"],
      [(main) => (main.command = ["sh", "chat.mjs", "--port", "1", "--model", "small"]), "command[0]"],
      [
        (main) => ((main.apps as object[])[0] = { ...(main.apps as object[])[0], sharing_level: "public" }),
        "apps[0].sharing_level",
      ],
      [(main) => ((main.apps as object[])[0] = { ...(main.apps as object[])[0], url: "ftp://x" }), "apps[0].url"],
      [
        (main) => ((main.apps as object[])[0] = { ...(main.apps as object[])[0], healthcheck: undefined }),
        "apps[0].healthcheck",
      ],
      [(main) => (main.color = 1), "color"],
    ];
    for (const [change, field] of changes)
      expect(report(rendered(change)).faults, field).to.deep.equal([`resources[1].agents[0].${field}`]);
  });
});
