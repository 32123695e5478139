// The parts of the console and of the command line that need no server and no browser: their operations, which the schema has
// to know, and how they read what people write and write what people read.
// Looks inside: these are functions and files of the programs.
import { globSync, readFileSync } from "node:fs";
import { expect } from "chai";
import * as graphql from "graphql";
import { buildSchema, parse, print, separateOperations, stripIgnoredCharacters, validate } from "graphql";
import { faultOf } from "../../clients/console/src/api/limits.js";
import * as shown from "../../clients/console/src/ui/text.js";
import { choiceOf, isId, limitOf, ownedName } from "../../clients/cli/command.js";
import { failureOf } from "../../clients/cli/failures.js";
import { requireProtection } from "../../clients/cli/oauth.js";
import { moment, words } from "../../clients/cli/output.js";
import { isForUsers } from "../../clients/cli/run.js";
import { requireUrl } from "../../clients/cli/session.js";
import { parametersOf } from "../../clients/cli/workspaces.js";
import { moduleOf } from "../../tools/console-types.mjs";

const schema = buildSchema(readFileSync("schema.graphql", "utf8"));

describe("the operations of clients", () => {
  const files = globSync("clients/**/*.graphql").toSorted();

  it("are those of the console and of the command line", () => {
    expect(files).to.include.members(["clients/console/src/views/users.graphql", "clients/cli/tasks.graphql"]);
  });

  for (const file of files)
    it(`of ${file} are valid, and its module has them word by word`, () => {
      const document = parse(readFileSync(file, "utf8"));
      expect(validate(schema, document).map(String)).to.deep.equal([]);
      const module = readFileSync(file.replace(/\.graphql$/, ".gql.ts"), "utf8");
      const constants = module.matchAll(/^export const (\w+) = operation<[^>]*>\(("(?:[^"\\]|\\.)*")/gm);
      const found = Object.fromEntries(
        [...constants].map(([, name, text]) => [name!, stripIgnoredCharacters(JSON.parse(text!) as string)]),
      );
      const wanted = Object.entries(separateOperations(document)).map(([name, operation]) => [
        name,
        stripIgnoredCharacters(print(operation)),
      ]);
      expect(found).to.deep.equal(Object.fromEntries(wanted));
    });
});

describe("the modules of operations", () => {
  const client = { folder: "clients/console/src", home: "api/operation", hasForms: true };
  const made = (operations: string) => {
    const types = buildSchema(`
      enum Color { RED GREEN }
      scalar DateTime
      union Pet = Cat | Dog
      type Cat { id: ID! lives: Int }
      type Dog { id: ID! walks: [[DateTime!]]! }
      type Query { pets(first: Int, color: Color): [Pet!]! cat: Cat }
      input Chip { at: DateTime! colors: [Color!] }
      input AddInput { "Its name." name: String! size: Float = 1 chips: [Chip!]! }
      type Mutation { add(input: AddInput!): Boolean! }`);
    const values = { AddInput: { name: { limits: { maxLength: 3 } } } };
    const source = new graphql.Source(operations, "clients/console/src/views/pets.graphql");
    return moduleOf(graphql, types, values, source, client);
  };

  it("have the types of results: of unions, lists, fragments, and fields that may be skipped", () => {
    const module = made(`
      fragment Lives on Cat { lives }
      query Pets($first: Int, $with: Boolean!, $color: Color = RED) {
        pets(first: $first, color: $color) { __typename ... on Cat { id ...Lives } ... on Dog { walks } }
        cat @include(if: $with) { name: id ...Lives }
        all: pets { ... on Cat { lives } }
      }`);
    expect(module).to.contain('import { operation } from "../api/operation";');
    expect(module).to.contain('export type Color = "RED" | "GREEN";');
    expect(module).to.contain("export type LivesFragment = { lives: number | null };");
    expect(module).to.contain(
      'export type PetsQuery = { pets: Array<({ __typename: "Cat"; id: string; lives: number | null } | ' +
        '{ __typename: "Dog"; walks: Array<Array<string> | null> })>; ' +
        "cat?: { name: string; lives: number | null } | null; " +
        "all: Array<({ lives: number | null } | Record<never, never>)> };",
    );
    expect(module).to.contain(
      "export type PetsQueryVariables = " +
        "{ first?: number | null | undefined; with: boolean; color?: Color | null | undefined };",
    );
  });

  it("have the types of inputs, and the fields of those from which forms are made", () => {
    const module = made("mutation Add($input: AddInput!) { add(input: $input) }");
    expect(module).to.contain("export type Chip = { at: string; colors?: Array<Color> | null | undefined };");
    expect(module).to.contain(
      "export type AddInput = { name: string; size?: number | null | undefined; chips: Array<Chip> };",
    );
    const [, fields] = /^export const Add = operation<AddMutation, AddMutationVariables>\("[^"]*", (.*)\);$/m.exec(
      module,
    )!;
    expect(JSON.parse(fields!)).to.deep.equal({
      name: { type: "String", limits: { maxLength: 3 }, isRequired: true },
      size: { type: "Float" },
      chips: {
        type: "Chip",
        isRequired: true,
        isList: true,
        fields: {
          at: { type: "DateTime", isRequired: true },
          colors: { type: "Color", isList: true, options: ["RED", "GREEN"] },
        },
      },
    });
  });

  it("are not written for operations that the schema does not know", () => {
    expect(() => made("{ cat { wings } }")).to.throw('Cannot query field "wings" on type "Cat"');
  });
});

describe("the limits of forms", () => {
  it("are those of texts, numbers, and lists, in the words of the value where it has some", () => {
    const name = { limits: { minLength: 1, maxLength: 3, pattern: "^[a-z]*$" }, words: "at most 3 letters" };
    expect(["abc", "𝔘𝔘𝔘", "abcd", "ab1", ""].map((text) => faultOf(text, name))).to.deep.equal([
      undefined,
      "Must be at most 3 letters.",
      "Must be at most 3 letters.",
      "Must be at most 3 letters.",
      "Is required.",
    ]);
    const url = { limits: { maxLength: 3, pattern: "^h" } };
    // The server has the words for other forms.
    expect(["x", "𝔘𝔘𝔘", "xxxx"].map((text) => faultOf(text, url))).to.deep.equal([
      undefined,
      undefined,
      "Must be at most 3 characters.",
    ]);
    expect([1, 5, 0, 6].map((value) => faultOf(value, { limits: { minimum: 1, maximum: 5 } }))).to.deep.equal([
      undefined,
      undefined,
      "Must be from 1 to 5.",
      "Must be from 1 to 5.",
    ]);
    expect(faultOf(0, { limits: { minimum: 1 } })).to.equal("Must be at least 1.");
    const list = { limits: { minItems: 1, maxItems: 2, maxLength: 3 } };
    expect([["a", "b"], [], ["a", "b", "c"], ["a", "bbbb"]].map((each) => faultOf(each, list))).to.deep.equal([
      undefined,
      "Is required.",
      "Must have at most 2 entries.",
      "Must be at most 3 characters.",
    ]);
    expect([undefined, true, { a: 1 }].map((value) => faultOf(value, name))).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the command line", () => {
  it("reads names, numbers, choices, and parameters, and says what is wrong with others", () => {
    expect(ownedName("box")).to.deep.equal({ owner: "me", name: "box" });
    expect(ownedName("ada/box")).to.deep.equal({ owner: "ada", name: "box" });
    for (const wrong of ["", "/box", "ada/", "a/b/c"]) expect(() => ownedName(wrong), wrong).to.throw("owner/name");
    expect(isId("01a22206-2b1e-75fa-9fd5-85be65f37c84")).to.equal(true);
    expect(isId("01a22206-2b1e-75fa-9fd5-85be65f37c8")).to.equal(false);
    expect([undefined, "1", "1000"].map(limitOf)).to.deep.equal([100, 1, 1000]);
    for (const wrong of ["0", "1001", "x", "-1", "1.5"]) expect(() => limitOf(wrong), wrong).to.throw("from 1 to 1000");
    expect(choiceOf("state", "idle", ["IDLE", "WORKING"])).to.equal("IDLE");
    expect(choiceOf("state", undefined, ["IDLE"])).to.equal(undefined);
    expect(() => choiceOf("state", "busy", ["IDLE", "WORKING"])).to.throw("--state must be one of: idle, working.");
    expect(parametersOf(["a=1", "b=", "c=x=y"])).to.deep.equal([
      { name: "a", value: "1" },
      { name: "b", value: "" },
      { name: "c", value: "x=y" },
    ]);
    for (const wrong of ["a", "=1"]) expect(() => parametersOf([wrong]), wrong).to.throw("NAME=VALUE");
  });

  it("takes origins, and sends no token without encryption to another machine", () => {
    expect(requireUrl("steward.example.com")).to.equal("https://steward.example.com");
    expect(requireUrl("http://127.0.0.1:8080/")).to.equal("http://127.0.0.1:8080");
    for (const wrong of ["ftp://x.example.com", "https://x.example.com/path", ""])
      expect(() => requireUrl(wrong), wrong).to.throw("must be an http or https URL");
    for (const safe of ["https://x.example.com", "http://localhost:1", "http://127.0.0.1"])
      requireProtection(safe, false);
    requireProtection("http://x.example.com", true);
    expect(() => requireProtection("http://x.example.com", false)).to.throw("is not encrypted");
  });

  it("knows which commands are those of users", () => {
    for (const own of ["login", "workspaces", "tasks", "templates", "inbox", "secrets"])
      expect(isForUsers([own]), own).to.equal(true);
    for (const other of [[], ["serve"], ["backup"], ["encryption"]]) expect(isForUsers(other)).to.equal(false);
  });

  it("writes times and states as people read them", () => {
    expect(moment("2026-01-02T03:04:05.678Z")).to.equal("2026-01-02 03:04:05Z");
    expect(moment(null)).to.equal("");
    expect(words("REQUIRES_ACTION")).to.equal("requires action");
  });

  it("reads failures of every form", () => {
    const failure = failureOf([
      {
        message: "No.",
        extensions: {
          code: "BAD_USER_INPUT",
          validations: [{ field: "input.name", detail: "Is too long." }, 5],
          requiredScopes: ["user:read", 1],
          retryAfter: "3",
        },
      },
    ]);
    expect(failure).to.include({ message: "No.", code: "BAD_USER_INPUT" });
    expect(failure.faults).to.deep.equal([
      { field: "input.name", detail: "Is too long." },
      { field: "", detail: "" },
    ]);
    expect(failure.details).to.deep.include({ requiredScopes: ["user:read"], retryAfter: undefined });
    for (const odd of [null, "x", {}, { message: 1 }])
      expect(failureOf([odd]).message).to.equal("The server reported a failure without a message.");
  });
});

describe("the console", () => {
  it("writes names as people read them", () => {
    const names = ["ORGANIZATION_ADMIN", "memberCount", "connection-log", "API_KEY", "OAUTH2_APP", "avatarUrl", "SSH"];
    expect(names.map(shown.wordsOf)).to.deep.equal([
      "Organization admin",
      "Member count",
      "Connection log",
      "API key",
      "OAuth2 app",
      "Avatar URL",
      "SSH",
    ]);
    expect(["WORKSPACE_PROXY", "API_KEY"].map(shown.nounOf)).to.deep.equal(["workspace proxy", "API key"]);
    expect(["CREATE", "LOGIN_FAILED", "OTHER_THING"].map(shown.doneOf)).to.deep.equal([
      "created",
      "failed to sign in",
      "other thing",
    ]);
    expect(shown.titleOf({ name: "a", displayName: "" })).to.equal("a");
    expect(shown.topicOf("Workspace Events")).to.equal("Workspace");
    expect(shown.keyNameOf({ name: "", kind: "SESSION", userAgent: "Mozilla/5.0 Chrome/1 Safari/1 Edg/1" })).to.equal(
      "Edg",
    );
    expect(shown.keyNameOf({ name: "", kind: "OAUTH", userAgent: null })).to.equal("Application");
  });

  it("reads and writes durations, sizes, amounts, and counts", () => {
    expect([0, 1, 90, 120, 3_600, 172_800].map(shown.durationOf)).to.deep.equal([
      "never",
      "1 second",
      "90 seconds",
      "2 minutes",
      "1 hour",
      "2 days",
    ]);
    expect(["never", "8 hours", "30 min", "5s", "2 d", "x", "5 weeks"].map(shown.secondsOf)).to.deep.equal([
      0,
      28_800,
      1_800,
      5,
      172_800,
      undefined,
      undefined,
    ]);
    expect([1, 999, 204_800, 5e6].map(shown.bytesOf)).to.deep.equal(["1 byte", "999 bytes", "204.8 kB", "5 MB"]);
    expect(shown.amountOf(1_234_567_890)).to.equal("1,234.57");
    expect([shown.countOf(1, "user"), shown.countOf(1_200, "user")]).to.deep.equal(["1 user", "1,200 users"]);
    expect([999, 1_000].map(shown.totalOf)).to.deep.equal(["999", "1000 or more"]);
    expect(shown.inOrder(["SUNDAY", "MONDAY"])).to.deep.equal(["MONDAY", "SUNDAY"]);
  });
});
