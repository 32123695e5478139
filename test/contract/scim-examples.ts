// One successful call of every described row of SCIM, as a client of the contract.
import { expect } from "chai";
import { type ScimClient, scimClient, newScimUser } from "../support/scim.js";
import type { Answer, World } from "../support/world.js";

type Example = (w: World) => Promise<Answer>;

const contractClient = (w: World) => scimClient(w, undefined, "Authorizaiton");

async function withUser(w: World): Promise<{ client: ScimClient; user: Record<string, unknown>; path: string }> {
  const client = await contractClient(w);
  const user = newScimUser();
  const { body } = await client.post("/Users", user);
  return { client, user, path: `/Users/${body.id}` };
}

export const scimExamples: Record<string, Example> = {
  "GET /scim/v2/ServiceProviderConfig": (w) => w.nobody.get("/scim/v2/ServiceProviderConfig"),
  "GET /scim/v2/Schemas": (w) => w.nobody.get("/scim/v2/Schemas"),
  "GET /scim/v2/Schemas/{urn}": (w) => w.nobody.get("/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User"),
  "GET /scim/v2/ResourceTypes": (w) => w.nobody.get("/scim/v2/ResourceTypes"),
  "GET /scim/v2/ResourceTypes/{name}": (w) => w.nobody.get("/scim/v2/ResourceTypes/User"),
  "GET /scim/v2/Users": async (w) => {
    const { client, user } = await withUser(w);
    const found = await client.find("/Users", `userName eq "${String(user.userName)}"`);
    expect(found.body.totalResults).to.equal(1);
    return found;
  },
  "POST /scim/v2/Users": async (w) => (await contractClient(w)).post("/Users", newScimUser()),
  "GET /scim/v2/Users/{id}": async (w) => {
    const { client, path } = await withUser(w);
    return client.get(path);
  },
  "PUT /scim/v2/Users/{id}": async (w) => {
    const { client, user, path } = await withUser(w);
    const replaced = await client.put(path, { ...user, active: false });
    expect(replaced.body.status).to.equal("suspended");
    return replaced;
  },
  "PATCH /scim/v2/Users/{id}": async (w) => {
    const { client, path } = await withUser(w);
    const changed = await client.patch(path, { active: false });
    expect(changed.body.status).to.equal("suspended");
    return changed;
  },
};
