// Which rows a request locks: none before its caller is authorized, so that forbidden requests delay no one else.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { makeProxy } from "../support/proxies.js";
import { enter, startWorkspaces } from "../support/stage.js";
import { operations } from "../support/operations.js";
import { locksOf } from "../support/statements.js";
import { insertOffer } from "../support/workspaces.js";
import { type Client, world } from "../support/world.js";

describe("row locks", () => {
  const the = world();

  const change = (verb: string, input: string) => `mutation { ${verb}(input: { ${input} }) { __typename } }`;

  /** Sends documents. Returns those that are rejected, and what the rejected ones locked. */
  async function rejected(client: Client, documents: Iterable<string>) {
    const found = { documents: [] as string[], locks: [] as string[] };
    for (const query of documents) {
      let code: string | undefined;
      const locks = await locksOf(async () => {
        const { body } = await client.post("/graphql", { query });
        code = body.errors?.[0].extensions.code;
      });
      if (code !== "FORBIDDEN" && code !== "NOT_FOUND") continue;
      found.documents.push(query);
      found.locks.push(...locks.map((lock) => `${query}: ${lock.slice(0, 300)}`));
    }
    return found;
  }

  const elsewhere = ["organization-admin", "organization-user-admin"];
  for (const [who, part] of Object.entries({
    "a plain member": { roles: [] },
    "an auditor": { siteRoles: ["auditor"] },
    "an administrator of another organization": { rolesElsewhere: elsewhere },
  })) {
    it(`are not taken by forbidden changes of ${who}`, async () => {
      const { client, stage } = await enter(the(), part);
      await startWorkspaces(the(), stage);
      const place = { ...stage, user: stage.victim };
      const all = [...operations.values()].flatMap(({ document }) => document?.(place) ?? []);
      const changes = all.filter((document) => document.startsWith("mutation") && !document.includes("logout"));
      const offer = await insertOffer(the(), stage.workspace, stage.victim, the().owner.id);
      const proxy = await makeProxy(the(), `locked-${newId().slice(-12)}`);
      const more = [
        ...["acceptWorkspaceTransfer", "declineWorkspaceTransfer"].map((verb) => change(verb, `id: "${offer}"`)),
        ...[proxy.id, proxy.name, newId()].flatMap((ref) => [
          change("updateWorkspaceProxy", `workspaceProxy: "${ref}", displayName: "x"`),
          change("deleteWorkspaceProxy", `workspaceProxy: "${ref}"`),
        ]),
      ];
      const ofCatalog = await rejected(client, changes);
      const ofMore = await rejected(client, more);
      expect(ofMore.documents).to.deep.equal(more);
      expect(ofCatalog.documents).to.have.length.above(100);
      expect([...ofCatalog.locks, ...ofMore.locks]).to.deep.equal([]);
    });
  }

  it("are taken by permitted changes", async () => {
    const { client, stage } = await enter(the(), { siteRoles: ["owner"] });
    const locks = await locksOf(() =>
      client.graphql(change("updateGroup", `group: "${stage.team}", displayName: "x"`)),
    );
    expect(locks.length).to.be.greaterThan(0);
  });
});
