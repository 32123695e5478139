// The ways around a recent proof that one may try: batches, several fields of a document, sockets, and keys of SCIM.
// Reaches for tables: no test waits ten minutes.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { addAuthenticator } from "./support/authenticators.js";
import { makeScimKey } from "./support/scim.js";
import { letPass } from "./support/tables.js";
import { type Anything, Client, type Person, world } from "./support/world.js";

const create = (name: string) => `createApiKey(input: { name: "${name}" }) { token }`;

describe("a recent proof is not avoided by", () => {
  const the = world();
  let ada: Person & { recoveryCodes: string[] };
  let me: Client;

  beforeEach(async () => {
    const w = the();
    const person = await w.user("ada");
    const factor = await addAuthenticator(w.as(person));
    await w.grant(person, "owner");
    ada = { ...person, ...factor };
    me = w.as(ada);
  });

  const age = async () => {
    await letPass(the(), "api_keys", { user_id: ada.id }, "11 min", ["created_at", "proved_at"]);
    the().app.services.credentials.onChange(`u:${ada.id}`);
  };

  /** The names of the keys that were made. */
  const made = async (): Promise<string[]> => {
    const { apiKeys } = await me.graphql(`{ apiKeys { name } }`);
    return apiKeys.map(({ name }: Anything) => name).filter(Boolean);
  };

  const codesOf = ({ errors = [] }: Anything): string[] => errors.map((each: Anything) => each.extensions.code);

  it("a batch, several fields or operations of a document, or a fragment", async () => {
    await age();
    const failed = ["STEP_UP_REQUIRED"];
    const documents: Record<string, [document: unknown, outcome: unknown]> = {
      "a batch": [[{ query: `mutation { ${create("a")} }` }, { query: `mutation { ${create("b")} }` }], 400],
      "several fields": [{ query: `mutation { a: ${create("a")} b: ${create("b")} c: ${create("c")} }` }, 400],
      "behind another field": [{ query: `mutation { a: logOut { __typename } b: ${create("b")} }` }, 400],
      "a fragment": [{ query: `mutation { ...all } fragment all on Mutation { ${create("a")} }` }, failed],
      "a wrong proof before it": [
        { query: `mutation { proveIdentity(input: { oneTimeCode: "000000" }) { proven } ${create("a")} }` },
        400,
      ],
      "another operation of the document": [
        { query: `query one { me { id } } mutation two { ${create("a")} }`, operationName: "two" },
        failed,
      ],
    };
    for (const [what, [document, outcome]] of Object.entries(documents)) {
      const { status, body } = await me.request("POST", "/graphql", document);
      expect(status === 400 ? status : codesOf(body), `${what}: ${JSON.stringify(body)}`).to.deep.equal(outcome);
    }
    expect(await made()).to.deep.equal([]);
    const query = new URLSearchParams({ query: `mutation { ${create("a")} }` }).toString();
    expect((await me.get(`/graphql?${query}`)).status).to.be.oneOf([400, 405]);
    expect(await made()).to.deep.equal([]);
  });

  it("a socket, also one that was opened while the proof was recent", async () => {
    const socket = createClient({
      url: `${the().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: ada.token },
      retryAttempts: 0,
      lazy: false,
    });
    const send = async (query: string): Promise<string[]> => {
      for await (const result of socket.iterate({ query })) return codesOf(result);
      return [];
    };
    try {
      expect(await send(`{ me { id } }`)).to.deep.equal([]);
      const usual = await send(`mutation { ${create("recent")} }`).catch((thrown: unknown) =>
        codesOf({ errors: thrown }),
      );
      const before = await made();
      await age();
      const late = await send(`mutation { ${create("late")} }`).catch((thrown: unknown) => codesOf({ errors: thrown }));
      // Sockets carry subscriptions alone, or ask as every other way does.
      expect(late).to.deep.equal(usual.length === 0 ? ["STEP_UP_REQUIRED"] : usual);
      expect(await made()).to.deep.equal(before);
    } finally {
      await socket.dispose();
    }
  });

  it("a key of SCIM, which reaches none of it", async () => {
    const { secret } = await makeScimKey(the());
    const ways: Array<Record<string, string>> = [
      { Authorization: `Bearer ${secret}` },
      { "Service-Session-Token": secret },
    ];
    for (const headers of ways) {
      for (const field of [
        create("a"),
        `setUserRoles(input: { user: "${ada.id}", roles: [] }) { __typename }`,
        `createScimKey(input: { name: "more", source: "more" }) { __typename }`,
        `addLicense(input: { license: "x" }) { __typename }`,
        `resetSecondFactors(input: { user: "${ada.id}" }) { __typename }`,
      ]) {
        const { body } = await the().nobody.request("POST", "/graphql", { query: `mutation { ${field} }` }, headers);
        expect(codesOf(body), field).to.have.length(1);
        expect(codesOf(body)[0], field).to.be.oneOf(["FORBIDDEN", "UNAUTHENTICATED"]);
      }
    }
    // Roles are no part of what it changes in a user.
    const key = { Authorization: `Bearer ${secret}`, "Content-Type": "application/scim+json" };
    const user = {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
      userName: "grace@example.com",
      emails: [{ value: "grace@example.com", primary: true }],
      roles: [{ value: "owner" }],
      active: true,
    };
    expect((await the().nobody.request("POST", "/scim/v2/Users", user, key)).status).to.equal(201);
    const { users } = await me.graphql(`{ users(filter: { search: "grace" }) { nodes { roles { name } } } }`);
    expect(users.nodes.flatMap((each: Anything) => each.roles.map((role: Anything) => role.name))).to.not.include(
      "OWNER",
    );
  });
});
