// Checks the form of the source and of the schema, whatever they do.
// Looks inside: the form of the source is its subject.
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ReferenceKind } from "@mikro-orm/core";
import { expect } from "chai";
import {
  getNamedType,
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isSpecifiedScalarType,
  lexicographicSortSchema,
  parse,
  printSchema,
} from "graphql";
import * as entities from "../src/entities/index.js";
import { openDatabase } from "../src/infrastructure/database/database.js";
import { Context, type Services } from "../src/domain/kernel/context.js";
import { type Actor, anonymous, type Credential } from "../src/domain/kernel/actor.js";
import { isMachine } from "../src/domain/authorization/authorization.js";
import { DomainError } from "../src/domain/kernel/errors.js";
import { buildSchema, getSchema } from "../src/graphql/schema.js";
import { prepare } from "../src/graphql/engine/execute.js";
import { requireDeclaredScopes } from "../src/graphql/engine/access.js";
import { userActor } from "./support/actors.js";
import { columnsOfWords, rawColumns } from "./support/raw-columns.js";
import { avoidedWords } from "./support/wording.js";
import { inputValuesOf } from "../tools/input-values.js";
import { isOfRest, parts as partsOfTests } from "../tools/test-parts.mjs";

const root = new URL("..", import.meta.url).pathname;
const files = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending))
    .map((path) => join(folder, path));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const sources = files("src", ".ts");
/** The clients that Node.js runs. The console runs in browsers. */
const clients = files("clients", ".ts").filter((path) => !path.startsWith("clients/console/"));
const programs = [...sources, ...clients];
const imported = (path: string) =>
  [...read(path).matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!);

describe("the layers", () => {
  /** Allowed imports, by folder below `src`. Unlisted ones may import everything. */
  const layers: Record<string, string[]> = {
    runtime: ["runtime"],
    entities: ["entities", "runtime"],
    infrastructure: ["infrastructure", "entities", "runtime"],
    kernel: ["kernel", "entities", "infrastructure", "runtime"],
    domain: ["domain", "entities", "infrastructure", "runtime"],
    config: ["config", "domain", "infrastructure", "runtime"],
    http: ["http", "domain", "runtime"],
    graphql: ["graphql", "domain", "infrastructure", "http", "runtime"],
    rest: ["rest", "graphql", "domain", "http", "runtime"],
    pages: ["pages", "graphql", "domain", "infrastructure", "http", "runtime"],
    observability: ["observability", "domain", "infrastructure", "http", "runtime"],
  };
  const wholes = ["app", "built-in-daemons", "main", "cli"];
  /** Allowed imports, by folder below `clients`. */
  const parts: Record<string, string[]> = {
    api: ["api"],
    agent: ["agent", "api"],
    daemon: ["daemon", "agent", "api"],
    cli: ["cli", "api"],
    console: ["console", "api"],
  };
  /** What clients share with the server: how programs start, read what is pasted, and print. It imports neither. */
  const shared = new Set(
    [
      "clock",
      "command-line",
      "manual",
      "node-version",
      "pasted",
      "ports",
      "program-files",
      "terminal",
      "time-zones/zone-data",
    ].map((name) => `src/runtime/${name}.ts`),
  );
  const layerOf = (path: string) => path.split("/")[1]!.replace(/\.[tj]s$/, "");
  /** The kernel is a part of the domain that more may import, and that imports no area. */
  const isKernel = (path: string) => path.startsWith("src/domain/kernel/");
  const layersOf = (path: string) => [layerOf(path), ...(isKernel(path) ? ["kernel"] : [])];

  it("have every file in a layer", () => {
    expect([...new Set(sources.map(layerOf))]).to.have.members([
      ...Object.keys(layers).filter((layer) => layer !== "kernel"),
      ...wholes,
    ]);
  });

  /** Returns the files of this program that a file imports. */
  const importedFiles = (path: string) =>
    imported(path)
      .filter((name) => name.startsWith("."))
      .map((name) => relative(root, join(root, dirname(path), name)).replace(/\.js$/, ".ts"));

  it("import in one direction only", () => {
    const wrong = sources.flatMap((path) => {
      const allowed = layers[isKernel(path) ? "kernel" : layerOf(path)];
      if (!allowed) return [];
      return importedFiles(path)
        .filter((target) => !layersOf(target).some((layer) => allowed.includes(layer)))
        .map((target) => `${path} → ${target}`);
    });
    expect(wrong).to.deep.equal([]);
  });

  it("have clients beside the server, which import nothing of it", () => {
    const all = [".ts", ".tsx"].flatMap((ending) => files("clients", ending));
    expect([...new Set(all.map(layerOf))]).to.have.members(Object.keys(parts));
    const wrong = all.flatMap((path) =>
      importedFiles(path)
        .filter((target) => !shared.has(target))
        .filter((target) => !target.startsWith("clients/") || !parts[layerOf(path)]?.includes(layerOf(target)))
        .map((target) => `${path} → ${target}`),
    );
    expect(wrong).to.deep.equal([]);
  });

  it("have a server that imports no client but the daemon that it runs, and an entry point for both command lines", () => {
    const found = sources.flatMap((path) =>
      importedFiles(path)
        .filter((target) => !target.startsWith("src/"))
        .map((target) => `${path} → ${target}`),
    );
    expect(found).to.have.members([
      "src/built-in-daemons.ts → clients/api/connection.ts",
      "src/built-in-daemons.ts → clients/daemon/serve-echo.ts",
      "src/built-in-daemons.ts → clients/daemon/transport.ts",
      "src/cli/main.ts → clients/cli/run.ts",
    ]);
  });

  /** The values that pages may import from the domain besides types: contexts for stored operations, and errors. */
  const takenByPages: Record<string, string[]> = {
    "src/domain/kernel/context.ts": ["Context"],
    "src/domain/kernel/actor.ts": ["anonymous"],
    "src/domain/kernel/errors.ts": ["DomainError", "forbidden"],
  };

  it("have pages that run stored operations and call no verb of the domain", () => {
    const wrong = sources
      .filter((path) => path.startsWith("src/pages/"))
      .flatMap((path) => {
        const text = read(path).replace(/^(im|ex)port type .*? from "[^"]+";$/gms, "");
        const taken = [...text.matchAll(/^(?:im|ex)port (?:\{([^}]*)\}|[^"]*?) from "([^"]+)";$/gm)].flatMap(
          ([, names = "* as all", from = ""]) => names.split(",").map((name) => ({ name: name.trim(), from })),
        );
        const values = taken
          .filter(({ name, from }) => name !== "" && !name.startsWith("type ") && from.includes("/domain/"))
          .map(({ name, from }) => ({ name, from: relative(root, join(root, dirname(path), from)) }))
          .filter(({ name, from }) => !takenByPages[from.replace(/\.js$/, ".ts")]?.includes(name))
          .map(({ name, from }) => `${path} → ${name} of ${from}`);
        const calls = [...text.matchAll(/import\("[^"]*\/domain\/|\.(transactional|rows?|audit)\(/g)];
        return [...values, ...calls.map(([call]) => `${path} → ${call}`)];
      });
    expect(wrong).to.deep.equal([]);
  });

  it("have no circles between files, types included", () => {
    const targets = new Map(programs.map((path) => [path, importedFiles(path)]));
    const finished = new Set<string>();
    const circles: string[] = [];
    const follow = (path: string, way: readonly string[]): void => {
      const at = way.indexOf(path);
      if (at >= 0) circles.push([...way.slice(at), path].join(" → "));
      if (at >= 0 || finished.has(path)) return;
      for (const target of targets.get(path) ?? []) follow(target, [...way, path]);
      finished.add(path);
    };
    for (const path of programs) follow(path, []);
    expect(circles).to.deep.equal([]);
  });

  it("read no clock but that of the database, except for licenses", () => {
    const own =
      /^src\/(runtime\/clock|cli\/|infrastructure\/embedded-postgres\/|domain\/(deployment\/clock|entitlements|licenses)\b)/;
    const wrong = sources.filter(
      (path) => !own.test(path) && /\bDate\.now\b|\bnew Date\b(?!\()|\bnew Date\(\)|[^.\w]Date\(\)/.test(read(path)),
    );
    expect(wrong).to.deep.equal([]);
  });

  it("read times by a function that throws on what is none, except where another server or program wrote them", () => {
    // Each of these decides what NaN means; none grants anything.
    const foreign = [
      "src/infrastructure/retry-after.ts",
      "src/domain/oauth2/document-fetches.ts",
      "clients/agent/conversation.ts",
    ];
    const wrong = programs.filter((path) => /\bDate\.parse\b|\bnew Date\([^()]*\)\.getTime\(/.test(read(path)));
    expect(wrong).to.have.members(["src/runtime/clock.ts", ...foreign]);
  });

  it("print through the functions that remove what a terminal obeys, and nowhere else", () => {
    const own = new Set([
      // The functions, and what is made of their results: tables and JSON, a bar of constants, and hidden questions.
      "src/runtime/terminal.ts",
      "clients/cli/output.ts",
      "src/cli/progress.ts",
      "clients/cli/confirm.ts",
      // It must run on every Node.js, and prints constants. The other one has a script of the shell.
      "src/runtime/node-version.ts",
      "src/domain/agents/init-script.ts",
    ]);
    const prints = /\bprocess\.(?:stdout|stderr)\.write\((?!"")|\bconsole\.(?:log|info|warn|error|debug)\(/;
    expect(programs.filter((path) => prints.test(read(path)) && !own.has(path))).to.deep.equal([]);
  });

  it("compute local times by their own time zone data, never in SQL or by the formats of Node.js", () => {
    for (const path of programs.filter((each) => each !== "src/runtime/time-zones/zone-data.ts")) {
      for (const [, zone] of read(path).matchAll(/at time zone (\S+)/gi)) expect(zone, path).to.match(/^'UTC'/);
      expect(read(path), path).to.not.match(/DateTimeFormat\([^)]*timeZone|new Cron\((?![^)]*timezone: "UTC")/);
    }
  });

  it("name the columns that statements return, since those of a prepared one may not change with its table", () => {
    /** Selects of all columns of a part of the statement, or within one, that names them. */
    const named: Record<string, string> = {
      "src/domain/kernel/lists.ts": "the page, whose list names them",
      "src/domain/notifications/notify.ts": "the recipients",
      "src/domain/notifications/watch-inbox.ts": "the items",
      "src/domain/tokens/snapshots.ts": "within a join",
      "src/domain/users/listing.ts": "within a comparison",
      "src/domain/users/users.ts": "the locked rows",
    };
    const all = /\b(selectAll|returningAll)\(|\breturning (\w+\.)?\*|\bselect (\w+\.)?\* from (?!\(|unnest\()/i;
    const wrong = sources.filter((path) => !path.startsWith("src/entities/migrations/") && all.test(read(path)));
    expect(wrong).to.have.members(Object.keys(named));
  });

  it("export functions and constants only for other files", () => {
    const users = new Map<string, number>();
    const everywhere = ["src", "clients", "test", "bench", "tools", "examples"].flatMap((folder) =>
      [".ts", ".tsx", ".mjs"].flatMap((ending) => files(folder, ending)),
    );
    for (const path of everywhere.filter((each) => !each.includes("node_modules/")))
      for (const word of new Set(read(path).match(/[\w$]+/g))) users.set(word, (users.get(word) ?? 0) + 1);
    const exported = /^export (?:async )?(?:const|function\*?) ([\w$]+)/gm;
    const alone = [...programs, ...files("test/support", ".ts")]
      .filter((path) => !path.endsWith(".gql.ts"))
      // These are for mocha, and for the schema, which type-graphql fills.
      .filter((path) => path !== "test/support/hooks.ts" && !/^src\/(graphql|entities)\//.test(path))
      .flatMap((path) => Array.from(read(path).matchAll(exported), ([, name]) => ({ path, name: name! })))
      .filter(({ name }) => users.get(name) === 1);
    expect(alone).to.deep.equal([]);
  });

  it("keep an area in a file or in a folder, never in both", () => {
    const folders = new Set(programs.map(dirname));
    expect(programs.filter((path) => folders.has(path.replace(/\.ts$/, "")))).to.deep.equal([]);
  });

  it("keep protocols out of the domain and SQL inside it", () => {
    const foreign: Record<string, RegExp> = {
      entities: /^(koa|@koa|graphql|type-graphql|@apollo|ws\b)/,
      domain: /^(koa|@koa|graphql|type-graphql|@apollo|ws\b)/,
      graphql: /^(koa|@koa|pg\b|kysely|@mikro-orm)|domain\/kernel\/database/,
      rest: /^(type-graphql|@apollo|pg\b|kysely|@mikro-orm)|domain\/kernel\/database/,
      http: /^(graphql|type-graphql|@apollo|pg\b|kysely|@mikro-orm)|domain\/kernel\/database/,
    };
    const wrong = sources.flatMap((path) => {
      const pattern = foreign[layerOf(path)];
      return imported(path)
        .filter((name) => pattern?.test(name))
        .map((name) => `${path} → ${name}`);
    });
    expect(wrong).to.deep.equal([]);
  });

  it("declare in entities what is stored, and nothing else", () => {
    const behaving = sources
      .filter((path) => path.startsWith("src/entities/") && !/\/(index|orm|base)\.ts$|\/migrations\//.test(path))
      .filter((path) => /\bfunction\b|\breturn\b|\bif \(|=>\s*\{|class \w+ extends [\w.]+ \{[^}]/.test(read(path)));
    expect(behaving).to.deep.equal([]);
  });

  it("mention no other product", () => {
    const words =
      /\b(todo|fixme|xxx|issue #?\d+|mocha|chai|spec\/|design\.md|conventions\.md|\/work\/|for (the )?tests?\b)/i;
    const lines = [...programs, ...["src", "clients"].flatMap((folder) => files(folder, ".graphql"))].flatMap((path) =>
      read(path)
        .split("\n")
        .filter((line) => words.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    expect(lines).to.deep.equal([]);
  });
});

describe("the columns of statements", () => {
  it("are named as the entities' naming strategy names them, references by their column names", async () => {
    const { orm } = openDatabase({ url: "postgres://localhost/unused", pool: 1, statementTimeout: 1000 });
    const columnName = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const differing = [...orm.getMetadata().getAll().values()].flatMap(({ className, props }) =>
      props.flatMap(({ name, fieldNames, kind }) => {
        const expected = kind === ReferenceKind.SCALAR ? [columnName(name)] : [`${columnName(name)}_id`];
        const isSame = fieldNames.length > 1 || isDeepStrictEqual(fieldNames, expected);
        return isSame ? [] : [`${className}.${name}: ${fieldNames.join()}`];
      }),
    );
    await orm.close();
    expect(differing).to.deep.equal([]);
  });

  it("are typed references in fragments of SQL, so that a column which is renamed does not compile", async () => {
    /** How many columns a file still names as text, and why. */
    const named: Record<string, [most: number, reason: string]> = {
      "src/domain/audit/daily-counts.ts": [8, "of whichever table is counted"],
      "src/domain/deployment/zone-check.ts": [3, "of one of four tables in turn"],
      "src/domain/encryption/columns.ts": [4, "what the query itself names"],
      "src/domain/encryption/encryption-status.ts": [1, "what the query itself names"],
      "src/domain/groups/access-lists.ts": [2, "of either access list"],
      "src/domain/groups/group-members.ts": [3, "of the union of both kinds of members"],
      "src/domain/groups/ai-spending.ts": [2, "of the rows that are sent"],
      "src/domain/notifications/inbox.ts": [1, "of an inbox, which is a query"],
      "src/domain/notifications/notify.ts": [2, "of the recipients, which are sent"],
      "src/domain/notifications/watch-inbox.ts": [1, "of an inbox, which is a query"],
      "src/domain/oauth2/exchange.ts": [3, "what the statement itself returns further up"],
      "src/domain/oauth2/issued.ts": [5, "of either kind of token"],
      "src/domain/organizations/member-counts.ts": [1, "what the statement itself sums up"],
      "src/domain/organizations/organization-members.ts": [2, "of the members that a query returns"],
      "src/domain/prebuilds/ended-prebuilds.ts": [5, "of members and entries that queries return"],
      "src/domain/rate-limits/shared.ts": [2, "what the statement itself names"],
      "src/domain/scim/user-links.ts": [1, "of either link"],
      "src/domain/tasks/conversation-reports.ts": [1, "of the messages that a query returns"],
      "src/domain/tasks/input-queue.ts": [1, "of the head of the queue, which is a query"],
      "src/domain/tokens/activity.ts": [2, "of the uses that are sent"],
      "src/domain/users/listing.ts": [2, "what the query itself returns"],
      "src/domain/users/mass-suspension.ts": [2, "what the statement itself returns further up"],
      "src/domain/workspaces/deadlines.ts": [4, "of the record that is sent"],
    };
    const { orm } = openDatabase({ url: "postgres://localhost/unused", pool: 1, statementTimeout: 1000 });
    const columns = columnsOfWords([...orm.getMetadata().getAll().values()]);
    await orm.close();
    expect(columns).to.include.members(["deleted_at", "organization_id"]);
    const found = sources
      .filter((path) => !path.startsWith("src/entities/migrations/"))
      .map((path) => ({ path, names: rawColumns(read(path), columns) }))
      .filter(({ path, names }) => names.length > (named[path]?.[0] ?? 0));
    expect(found).to.deep.equal([]);
  });
});

describe("the columns", () => {
  it("hold what inputs of the same names take", () => {
    /** Fields whose text is not that of the column, and why. */
    const others: Record<string, string> = {
      "CreateWorkspaceInput.autostartSchedule": "stored in its normal form",
      "UpdateWorkspaceInput.autostartSchedule": "stored in its normal form",
      "UpdateScimKeyInput.id": "of a key that exists",
    };
    const tables = new Map(
      Object.values(entities).map(({ meta }) => [meta.className, meta.properties as Record<string, object>]),
    );
    const narrow: string[] = [];
    let count = 0;
    for (const [type, fields] of Object.entries(inputValuesOf(getSchema()))) {
      const columns = tables.get(/^(?:Create|Update)(\w+)Input$/.exec(type)?.[1] ?? "") ?? {};
      for (const [field, { limits }] of Object.entries(fields)) {
        const { length } = (columns[field] ?? {}) as { length?: number };
        if (length === undefined || others[`${type}.${field}`]) continue;
        count++;
        const { maxLength = Infinity, pattern = "" } = limits as { maxLength?: number; pattern?: string };
        const isHeld = maxLength <= length || !new RegExp(pattern, "u").test("a".repeat(length + 1));
        if (!isHeld) narrow.push(`${type}.${field}: ${length}`);
      }
    }
    expect(narrow).to.deep.equal([]);
    expect(count).to.be.greaterThan(30);
  });
});

describe("the GraphQL schema", () => {
  const schema = getSchema();
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()] as GraphQLObjectType[];
  const rootFields = roots.flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })));
  const mutations = Object.values(schema.getMutationType()!.getFields());

  it("matches schema.graphql and input-values.json, which npm run schema writes", () => {
    const sorted = lexicographicSortSchema(schema);
    expect(read("schema.graphql")).to.equal(`${printSchema(sorted)}\n`);
    expect(JSON.parse(read("input-values.json"))).to.deep.equal(inputValuesOf(sorted));
  });

  it("describes every type, field, argument, and value", () => {
    const silent: string[] = [];
    const check = (name: string, described: { description?: string | null }) => {
      if (!described.description?.trim()) silent.push(name);
    };
    for (const type of Object.values(schema.getTypeMap())) {
      if (!isIntrospectionType(type) && !isSpecifiedScalarType(type)) check(type.name, type);
    }
    for (const type of Object.values(schema.getTypeMap())) {
      if (isIntrospectionType(type)) continue;
      if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
      if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field);
        for (const arg of "args" in field ? field.args : []) check(`${type.name}.${field.name}(${arg.name})`, arg);
      }
    }
    expect(silent).to.deep.equal([]);
  });

  it("names enum values and fields by the conventions of GraphQL", () => {
    const odd = Object.values(schema.getTypeMap()).flatMap((type) => {
      if (isIntrospectionType(type)) return [];
      if (isEnumType(type))
        return type
          .getValues()
          .map(({ name }) => name)
          .filter((name) => !/^[A-Z][A-Z0-9_]*$/.test(name));
      const fields = isObjectType(type) || isInputObjectType(type) ? Object.keys(type.getFields()) : [];
      return fields.filter((name) => !/^[a-z][a-zA-Z0-9]*$/.test(name)).map((name) => `${type.name}.${name}`);
    });
    expect(odd).to.deep.equal([]);
  });

  it("gives all mutations one form: verbNoun(input: VerbNounInput!): VerbNounPayload!", () => {
    const form = ({ name, args, type }: GraphQLField<unknown, unknown>) =>
      `${name}(${args.map((arg: GraphQLArgument) => `${arg.name}: ${String(arg.type)}`).join(", ")}): ${String(type)}`;
    const odd = mutations.filter((field) => {
      const noun = field.name[0]!.toUpperCase() + field.name.slice(1);
      const input = field.args.length > 0 ? `input: ${noun}Input!` : "";
      return form(field) !== `${field.name}(${input}): ${noun}Payload!`;
    });
    expect(odd.map(form)).to.deep.equal([]);
  });

  it("returns null for a missing object that an argument of a query names, and never for other queries", () => {
    const queries = Object.values(schema.getQueryType()!.getFields());
    const nullable = queries.filter(({ type }) => !isNonNullType(type)).map(({ name }) => name);
    const single = queries.filter(({ type }) => {
      const named = getNamedType(type);
      return type === named || String(type) === `${named.name}!`;
    });
    // SCIM has lists in its own form.
    const isList = ({ name, type }: (typeof queries)[number]) =>
      /(Connection|ListResult)!?$/.test(String(type)) || ["scimSchemas", "scimResourceTypes"].includes(name);
    const isName = ({ type }: GraphQLArgument) => getNamedType(type).name !== GraphQLBoolean.name;
    const naming = single.filter((field) => field.args.some(isName) && !isList(field));
    expect(nullable).to.have.members(naming.map(({ name }) => name));
    expect(nullable).to.include.members(["group", "user", "organization", "workspaceProxy"]);
  });

  /** Returns an operation that selects only this root field. */
  function alone(type: GraphQLObjectType, field: GraphQLField<unknown, unknown>) {
    const keyword = type === roots[0] ? "query" : type === roots[1] ? "mutation" : "subscription";
    const required = field.args.filter(isRequiredArgument);
    const variables = required.map(({ name, type: declared }) => `$${name}: ${String(declared)}`).join(", ");
    const values = required.map(({ name }) => `${name}: $${name}`).join(", ");
    const selection = isLeafType(getNamedType(field.type)) ? "" : "{ __typename }";
    return parse(
      `${keyword} ${variables && `(${variables})`} { ${field.name}${values && `(${values})`} ${selection} }`,
    );
  }

  it("runs every mutation in a transaction", async () => {
    const result = { data: { transacted: true } };
    for (const field of mutations) {
      const [caller = "user"] = (field.extensions.openTo as string[] | undefined) ?? [];
      const kind = caller === "user" ? "session" : (caller as Credential["kind"]);
      const credential = { ...userActor().credential, kind };
      const actor = isMachine(caller) ? ({ kind: caller } as Actor) : userActor({ credential });
      const context = { actor, request: {}, transactional: () => Promise.resolve(result) } as unknown as Context;
      expect(await prepare(schema, alone(roots[1]!, field)).admit(context).run({}), field.name).to.equal(result);
    }
  });

  it("opens only these fields to anonymous callers", () => {
    const nobody = new Context({} as Services, anonymous, { id: "test" }, () => new AbortController());
    const open = rootFields.filter(({ type, field }) => {
      try {
        prepare(schema, alone(type, field)).admit(nobody);
        return true;
      } catch (error) {
        expect(error).to.be.instanceOf(DomainError).with.property("code", "UNAUTHENTICATED");
        return false;
      }
    });
    expect(open.map(({ field }) => field.name)).to.have.members([
      "authScopes",
      "serverInfo",
      "login",
      "beginPasskeyLogin",
      "loginWithPasskey",
      "requestOneTimePasscode",
      "changePasswordWithPasscode",
      "scimServiceProviderConfig",
      "scimSchemas",
      "scimSchema",
      "scimResourceTypes",
      "scimResourceType",
      "issueOAuth2Token",
      "oauth2Introspection",
      "revokeOAuth2Token",
      "startOAuth2Device",
      "oauth2ServerMetadata",
      "oauth2ProtectedResourceMetadata",
      "oauth2ClientConfiguration",
      "registerOAuth2Client",
      "updateOAuth2Client",
      "deleteOAuth2Client",
      "notificationUnsubscription",
      "unsubscribeFromNotification",
      "invitationOffer",
      "acceptInvitation",
    ]);
  });

  it("counts operations that could be used to guess secrets", () => {
    const tries = rootFields.filter(({ type, field }) => prepare(schema, alone(type, field)).triesSecrets);
    expect(tries.map(({ field }) => field.name)).to.have.members([
      "login",
      "changePassword",
      "validatePassword",
      "convertLogin",
      "beginAuthenticator",
      "confirmAuthenticator",
      "regenerateRecoveryCodes",
      "removeAuthenticator",
      "proveIdentity",
      "beginPasskey",
      "confirmPasskey",
      "beginPasskeyLogin",
      "loginWithPasskey",
      "requestOneTimePasscode",
      "changePasswordWithPasscode",
      // Rates of the OAuth2 endpoints.
      "oauth2AuthorizationRequest",
      "approveOAuth2Authorization",
      "denyOAuth2Authorization",
      "oauth2DeviceRequest",
      "approveOAuth2Device",
      "denyOAuth2Device",
      "issueOAuth2Token",
      "revokeOAuth2Token",
      "startOAuth2Device",
      "oauth2ClientConfiguration",
      "registerOAuth2Client",
      "updateOAuth2Client",
      "deleteOAuth2Client",
      // Links in mails.
      "notificationUnsubscription",
      "unsubscribeFromNotification",
      "invitationOffer",
      "acceptInvitation",
    ]);
  });

  it("rejects root fields that declare no scopes, and declarations for unknown fields", () => {
    const changed = (change: (made: typeof schema) => void) => () => {
      const made = buildSchema();
      change(made);
      requireDeclaredScopes(made);
    };
    expect(changed(() => {})).to.not.throw();
    expect(changed((made) => (made.getQueryType()!.getFields().groups!.extensions = {}))).to.throw("for groups.");
    expect(
      changed((made) => {
        const { logout, updateUser } = made.getMutationType()!.getFields();
        for (const field of [logout!, updateUser!]) field.extensions = { needs: [] };
      }),
    ).to.throw("for logout, updateUser.");
    const odd = changed(
      (made) => (made.getType("Group")!.extensions = { readWith: "group:read", references: ["idd"] }),
    );
    expect(odd).to.throw("Group has no field idd.");
  });

  it("declares the scope that reads each object type, except for open types and parts of other objects", () => {
    const silent = Object.values(schema.getTypeMap())
      .filter((type) => isObjectType(type) && !isIntrospectionType(type) && !roots.includes(type))
      .filter(({ name, extensions }) => !extensions.readWith && !/(Payload|Connection|Edge)$|^PageInfo$/.test(name));
    expect(silent.map(({ name }) => name)).to.have.members([
      // For every signed-in user, or for everyone.
      "Appearance",
      "Banner",
      "SupportLink",
      "PublicUser",
      "AuthScopes",
      "PermissionCheckResult",
      "AssignableRole",
      "Entitlements",
      "Feature",
      "UsagePeriod",
      "PasswordValidation",
      "NotificationMethods",
      "NotificationSettings",
      "PrebuildsSettings",
      "HeldWorkspaces",
      "FirstStep",
      "FirstSteps",
      "EventDefinition",
      "ServerInfo",
      "SignInProvider",
      "Branding",
      // Each of its series has a scope of its own.
      "DailyCounts",
      // For those who may update the template.
      "InvalidatedPreset",
      "TemplateAcl",
      "TemplateAclAvailable",
      "TemplateGroupEntry",
      "TemplateParameter",
      "TemplateParameterOption",
      "TemplateParameterValidation",
      "TemplateParameterValue",
      "TemplateUserEntry",
      // For those who administer the deployment, or the organization.
      "SecondFactorRule",
      "SecondFactorRuleReach",
      "OAuth2ServerMetadata",
      "OAuth2ProtectedResourceMetadata",
      "NotificationUnsubscription",
      // For those who have the link.
      "InvitationOffer",
      // For the holder of its registration access token.
      "OAuth2ClientConfiguration",
      // Reached only through the object that they are a part of.
      "UserRole",
      "InvitedMembership",
      "InvitedGroup",
      "ImportedInvitation",
      "ImportedInvitationFault",
      "ConnectionSshInfo",
      "ConnectionWebInfo",
      "EncryptionKeyStatus",
      "EncryptedRows",
      "InboxAction",
      "OAuth2AppEndpoints",
      "NotificationAttempt",
      "SmtpTransport",
      "WebhookTransport",
      "NotificationTransportSecret",
      "WorkspaceProxyStatus",
      "WorkspaceProxyReport",
      "OAuth2RedirectTarget",
      "OAuth2RequestedScope",
      "OAuth2RequestingApp",
      "MatchedProvisioners",
      "ProvisionerDaemonJob",
      "ProvisionerJobInput",
      "ProvisionerJobMetadata",
      "ProvisionerKeyDaemons",
      "ProvisionerKeyFormerSecret",
      "WorkspaceGroupEntry",
      "WorkspaceParameter",
      "WorkspaceResourceMetadata",
      "WorkspaceUserEntry",
      // Requests for access, which any application can make to the caller.
      "OAuth2AuthorizationRequest",
      "OAuth2DeviceRequest",
      // Of all kinds whose scopes the credential has.
      "SearchResult",
      // Events of the inbox, whose notifications and counts need its scope.
      "InboxNotificationAdded",
      "InboxUnreadCountChanged",
      "InboxWatchRestarted",
      // For provisioner daemons.
      "ProvisionerJobAssigned",
      "ProvisionerAssignment",
      "AssignedValue",
      "AssignedWorkspace",
      "AssignedOwner",
      "AssignedTask",
      "ProvisionerJobCancelRequested",
      "ProvisionerDrainRequested",
      "ReportedAgent",
      "PrebuildSchedule",
      "WorkspaceAgentUsage",
      "AgentVariable",
      "WorkspaceAgentHealth",
      "WorkspaceHealth",
      "WorkspaceAgentLatency",
      "WorkspaceApp",
      "WorkspaceAppHealthcheck",
      "WorkspaceAppStatus",
      "WorkspaceScript",
      "WorkspaceAgentLogSource",
      // For agents.
      "AgentManifest",
      "AgentManifestApp",
      "AgentManifestScript",
      "AgentFile",
      "AgentSecretError",
      "AgentTask",
      "TaskAction",
      "AgentEvent",
      // For provisioner daemons.
      // For workspace proxies.
      "AppConnectKey",
      "ApplicationTarget",
      // For applications.
      "OAuth2Introspection",
    ]);
  });

  it("requires a scope everywhere, except for what every credential may do", () => {
    const unscoped = rootFields.filter(({ type, field }) => {
      const { open, needs } = prepare(schema, alone(type, field));
      return !open && needs.length === 0;
    });
    expect(unscoped.map(({ field }) => field.name)).to.have.members([
      "acceptProvisionerJob",
      "completeProvisionerJob",
      "eventTypes",
      "failProvisionerJob",
      "provisionerWorkReceived",
      "reportProvisionerResources",
      "updateProvisionerJob",
      "dailyCounts",
      "search",
      "me",
      "uploadTaskLogSnapshot",
      "beginTaskConversation",
      "reportTaskConversation",
      "taskActionRequested",
      "agentEventReceived",
      "agentHeartbeat",
      "agentManifest",
      "appendAgentLogs",
      "applicationTarget",
      "applicationsHost",
      "authCheck",
      "assignableRoles",
      "deregisterWorkspaceProxy",
      "appearance",
      "disconnectAgent",
      "entitlements",
      "heartbeatWorkspaceProxy",
      "logout",
      "notificationMethods",
      "notificationSettings",
      "prebuildsSettings",
      "recordConnections",
      "registerWorkspaceProxy",
      "reportAgentResourceAlert",
      "reportAgentLifecycle",
      "reportAgentResources",
      "reportAgentStartup",
      "reportAppHealth",
      "reportAppStatus",
      "reportScriptResult",
      "validatePassword",
    ]);
  });
});

describe("the names of Boolean values", () => {
  /** Names that read as no question, with the reason. */
  const exempt: Record<string, string> = {
    "src/config/settings.ts": "secret verbatim; attributes of a row of the table of settings",
    "src/runtime/config.ts": "proxyHealthAllowLoopback taskAppAllowLoopback; named as their settings",
    "src/domain/workspace-proxies/sites.ts": "allowPrivateDomains; named as its setting",
    "src/domain/external-auth/configuration.ts": "noRefresh deviceFlow; named as in the configuration of operators",
    "src/runtime/errors.ts": "upstream precondition tooLarge; details of an error, as the extensions of GraphQL errors",
    "src/graphql/engine/access.ts": "anyScope open; declarations of root fields, which read as adjectives",
    "src/graphql/engine/declarations.ts": "nullable; as type-graphql has it",
    "src/rest/engine/area.ts": "oneElementArray; an option of rows",
    "src/infrastructure/embedded-postgres/index.ts": "fsync; a setting of Postgres",
    "src/infrastructure/embedded-postgres/postmaster.ts": "fsync; a setting of Postgres",
    "src/infrastructure/identity-providers.ts": "primary verified; on the wire",
    "src/domain/tokens/snapshots.ts": "adminWorkspaceAccess; named as its setting",
    "clients/agent/conversation.ts": "cut; on the wire",
    "clients/console/src/views/logs.tsx": "secret; in the diffs of audit events",
    "src/domain/scim/user-mapping.ts": "primary; on the wire",
    "clients/daemon/protocol.ts": "required; on the wire",
    "clients/cli/command.ts": "flag; a kind of option",
    "src/http/body.ts": "couldGoOn",
    "src/domain/authorization/permission-grants.ts": "everywhere; a way in which a permission is held",
    "src/domain/authorization/scim-key-policy.ts": "keyMay",
    "src/runtime/text.ts": "truthOf; undefined for what is no truth",
    "src/graphql/engine/limits.ts": "checkLimits; a verb",
  };
  /** Begins with `is`, `has`, a modal verb, or another verb in the third person. */
  const asksWhether =
    /^#?(is|has|can|may|should|must|was|were|are|did|does|had)([A-Z]|$)|^#?[a-z]+s([A-Z]|$)|[a-z](Is|Are|Has)[A-Z]/;

  it("are questions, unless the API, the wire, or the settings name them otherwise", () => {
    const types = Object.values(getSchema().getTypeMap());
    const named = types
      .filter((type) => isObjectType(type) || isInterfaceType(type) || isInputObjectType(type))
      .flatMap((type) => Object.values<{ name: string; type: GraphQLOutputType | GraphQLInputType }>(type.getFields()))
      .flatMap((field) => [field, ...("args" in field ? (field.args as readonly GraphQLArgument[]) : [])])
      .filter(({ type }) => getNamedType(type) === GraphQLBoolean);
    const inApi = new Set(named.map(({ name }) => name));
    const declared =
      /(?<![\w.'"`])(#?[a-z]\w*)(?:\?: true|\??: boolean)(?: \| (?:undefined|null|false))*(?=\s*[;,)}])/g;
    const functions = /\b(?:function (\w+)\([^)]*\)|const (\w+) = (?:async )?\([^()]*\)): (?:boolean|\w+ is )/g;
    const wrong = [...sources, ...files("clients", ".ts"), ...files("clients", ".tsx")]
      .filter((path) => !path.startsWith("src/entities/migrations/") && !path.endsWith(".gql.ts"))
      .flatMap((path) => {
        const text = read(path).replace(/\/\*[^]*?\*\/|\/\/.*/g, "");
        const found = [...text.matchAll(declared), ...text.matchAll(functions)].map(([, one, other]) => one ?? other!);
        const excused = (exempt[path] ?? "").split(";")[0]!.split(" ");
        return [...new Set(found)]
          .filter((name) => !asksWhether.test(name) && !inApi.has(name.replace("#", "")) && !excused.includes(name))
          .map((name) => `${path}: ${name}`);
      });
    expect(wrong).to.deep.equal([]);
  });
});

describe("the tests", () => {
  /** How many files of tests may speak SQL themselves. */
  const allowed = 56;
  const tests = files("test", ".ts").filter((path) => !path.includes("node_modules/"));
  const stories = tests.filter((path) => path.endsWith(".test.ts") && path !== "test/architecture.test.ts");
  const saysWhy = (path: string) => /^\/\/ (Looks inside|Reaches for tables): .+\.$/m.test(read(path));
  /** A literal that begins with a statement, or the database of a server in this process. */
  const sql =
    /["`]\s*(with \w+ as \(|select\b|insert into \w|update \w+( \w+)? set\b|delete from \w|lock table \w)|\bservices\.database\b|\{[^}]*\bdatabase\b[^}]*\} = [\w.()!]*\bservices\b/;
  const speaksSql = (path: string) => imported(path).includes("pg") || sql.test(read(path));

  it("are in two parts, of which the first needs no browser and no tools of others", () => {
    const [first, rest] = [partsOfTests.first, partsOfTests.rest].map((patterns) => globSync(patterns, { cwd: root }));
    expect(first!.filter(isOfRest)).to.deep.equal([]);
    expect(rest!.filter((path) => !isOfRest(path))).to.deep.equal([]);
    expect([...first!, ...rest!].toSorted()).to.deep.equal(
      tests.filter((path) => path.endsWith(".test.ts")).toSorted(),
    );
  });

  it("name a third of all for an unusual database, each of which exists", () => {
    const named = read("test/unusual-database.txt").split("\n").filter(Boolean);
    const existing = new Set(stories.map((path) => path.slice("test/".length, -".test.ts".length)));
    expect(named.filter((name) => !existing.has(name))).to.deep.equal([]);
    expect(named.length).to.be.at.least(existing.size / 3);
  });

  it("look inside, by importing sources or by SQL, only in folders named inside, and those do", () => {
    const isInside = (path: string) => dirname(path).endsWith("/inside");
    const importsSources = (path: string) => imported(path).some((name) => /^(\.\.\/)+(src|clients)\//.test(name));
    const checked = stories.filter((path) => !/^test\/(contract|tools)\//.test(path));
    const misplaced = checked.filter((path) => isInside(path) !== (importsSources(path) || speaksSql(path)));
    expect(misplaced).to.deep.equal([]);
  });

  it("import no sources, unless they say why they look inside", () => {
    const silent = tests
      .filter((path) => path !== "test/support/app.ts")
      .filter((path) => imported(path).some((name) => /^(\.\.\/)+(src|clients)\//.test(name)))
      .filter((path) => !saysWhy(path));
    expect(silent).to.deep.equal([]);
  });

  it("reach for no tables, in SQL or by the functions for it, unless they say why they look inside", () => {
    const reaches = (path: string) => imported(path).some((name) => name.endsWith("/support/tables.js"));
    const silent = stories.filter((path) => speaksSql(path) || reaches(path)).filter((path) => !saysWhy(path));
    expect(silent).to.deep.equal([]);
  });

  it("leave SQL to their support, except for a number of files that only falls", () => {
    const own = stories.filter(speaksSql);
    expect(own.length, own.join(" ")).to.be.at.most(allowed);
  });
});

describe("the documents", () => {
  it("have links to files that exist", () => {
    const own = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    const documents = [
      ...own,
      ...["docs", "clients", "deploy", "examples", "findings"].flatMap((each) => files(each, ".md")),
    ];
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)]
        .map(([, target]) => join(dirname(path), target!))
        .filter((target) => !existsSync(join(root, target)))
        .map((target) => `${path} → ${target}`),
    );
    expect(broken).to.deep.equal([]);
  });
});

describe("the wording", () => {
  /** Files that are not checked, with the reason. */
  const exempt: Record<string, string> = {
    "bench/results": "Output of earlier runs.",
    "src/entities/migrations": "Landed migrations are never edited.",
    "test/architecture.test.ts": "Uses the words to test the check.",
    "test/support/wording.ts": "Lists the words.",
  };
  const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`);
  const documents = ["src", "clients", "test", "docs", "tools", "bench"].flatMap((folder) =>
    [".ts", ".tsx", ".mjs", ".md", ".graphql"].flatMap((ending) => files(folder, ending)),
  );

  it("uses the words of the field", () => {
    const checked = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", ...documents]
      .filter((path) => !path.includes("node_modules/"))
      .filter((path) => !Object.keys(exempt).some((place) => isIn(path, place)));
    expect(checked).to.include.members(["README.md", "docs/clients.md", "src/rest/groups.graphql", "tools/build.mjs"]);
    expect(checked.flatMap((path) => avoidedWords(path, read(path)))).to.deep.equal([]);
  });

  it("begins no docstring and no description with What, and says Whether of Boolean values only", () => {
    const odd = documents
      .filter((path) => path.endsWith(".ts") && !Object.keys(exempt).some((place) => isIn(path, place)))
      .filter((path) => !path.includes("node_modules/") && /^ *\/\*\* What\b/m.test(read(path)));
    for (const type of Object.values(getSchema().getTypeMap())) {
      if (isIntrospectionType(type)) continue;
      const check = (name: string, { description }: { description?: string | null }, of?: string) => {
        if (/^What\b/.test(description ?? "")) odd.push(name);
        if (/^Whether\b/.test(description ?? "") && of?.replace("!", "") !== GraphQLBoolean.name) odd.push(name);
      };
      check(type.name, type);
      if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field, String(field.type));
        for (const arg of "args" in field ? field.args : [])
          check(`${type.name}.${field.name}(${arg.name})`, arg, String(arg.type));
      }
    }
    expect(odd).to.deep.equal([]);
  });

  it("is checked in comments, messages, and documents, but not in code", () => {
    const program =
      'const answer = nobody; // at once\n/**\n * `answer` of somebody\n */ say("the licence", `answer`);';
    expect(avoidedWords("a.ts", program)).to.deep.equal([
      'a.ts:1: "at once", write: immediately, concurrently, at a time',
      'a.ts:3: "somebody", write: a user, another user',
      'a.ts:4: "licence", write: license',
    ]);
    expect(avoidedWords("a.md", "An `answer`:\n```\nat once\n```\nshall")).to.deep.equal([
      'a.md:5: "shall", write: must, will',
    ]);
    expect(avoidedWords("a.graphql", "# Whoever\nanswer: somebody")).to.deep.equal([
      'a.graphql:1: "Whoever", write: the caller, anyone who',
    ]);
    expect(avoidedWords("a.ts", 'fail(`no user "nobody"`); const quote = /[`"]/; // as it is')).to.deep.equal([]);
  });
});
