// Concurrent SCIM changes of users and of the groups that they share: each is applied or rejected, and none fails.
import { expect } from "chai";
import { newScimUser, scimClient } from "../support/scim.js";
import { type Answer, world } from "../support/world.js";

describe("concurrent SCIM changes of users and groups", () => {
  // Requests wait for each other, on a slow machine for longer than they usually may.
  const w = world({ STEWARD_REQUEST_TIMEOUT: "5m" });

  it("never fail, and leave groups whose members are users that the source sees", async () => {
    const scim = await scimClient(w());
    const documents = Array.from({ length: 6 }, () => newScimUser());
    const users = await Promise.all(documents.map(async (each) => (await scim.post("/Users", each)).body.id as string));
    const members = users.map((value) => ({ value }));
    const groups = await Promise.all(
      ["One", "Two", "Three"].map(
        async (displayName) => (await scim.post("/Groups", { displayName, members })).body.id as string,
      ),
    );
    const elsewhere = await w().organization();
    const outsider = await w().user("outsider", [elsewhere.id]);
    const kinds: Array<(user: number, group: string, label: string) => Promise<Answer>> = [
      (user, _, label) =>
        scim.change(`/Users/${users[user]}`, { op: "replace", value: { name: { formatted: `N ${label}` } } }),
      (user, group) =>
        scim.change(
          `/Groups/${group}`,
          { op: "remove", path: 'members[display co "N"]' },
          { op: "add", path: "members", value: [{ value: users[user] }] },
        ),
      (_, group, label) => scim.put(`/Groups/${group}`, { displayName: `G ${label}`, members }),
      (user) => scim.delete(`/Users/${users[user]}`),
      (user) => scim.post("/Users", documents[user]),
      (_, group) => scim.change(`/Groups/${group}`, { op: "add", path: "members", value: [{ value: outsider.id }] }),
    ];
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async (_lane, lane) => {
        const seen: number[] = [];
        for (let n = 0; n < 18; n++) {
          const send = kinds[(lane + n * 5) % kinds.length]!;
          seen.push((await send((lane + n) % users.length, groups[(lane * 2 + n) % 3]!, `${lane} ${n}`)).status);
        }
        return seen;
      }),
    );
    expect(new Set(statuses.flat())).to.satisfy((all: Set<number>) => [...all].every((status) => status < 500));

    for (const id of groups) {
      const shown = ((await scim.get(`/Groups/${id}`)).body.members ?? []) as Array<{ value: string; display: string }>;
      for (const { value, display } of shown) {
        const { status, body } = await scim.get(`/Users/${value}`);
        expect(status, "a member that the source sees").to.equal(200);
        expect(body.groups.map((group: { value: string }) => group.value)).to.include(id);
        expect([body.name?.formatted, body.userName, body.displayName]).to.include(display);
      }
    }
  });
});
