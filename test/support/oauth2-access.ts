// What tests of OAuth2 need and other parts of the program make: applications, and access tokens of grants.
import { insertAccessToken, insertClient, insertGrant } from "./oauth2-rows.js";
import type { Person, World } from "./world.js";

/** Creates an application. */
export async function makeApp(w: World, kind = "admin"): Promise<string> {
  return (await insertClient(w, { kind, grant_types: ["authorization_code"] })).id;
}

/** Creates a grant of a user for an application, and returns its id. */
export async function makeGrant(w: World, userId: string, clientId: string): Promise<string> {
  return (await insertGrant(w, userId, clientId, {})).id;
}

interface Access {
  scopes?: string[];
  audiences?: string[];
  clientId?: string;
}

/** Creates an access token of a user for an application. */
export async function makeAccess(
  w: World,
  { id }: Pick<Person, "id">,
  { scopes = ["all"], audiences = [], clientId }: Access = {},
): Promise<string> {
  const grant = await insertGrant(w, id, clientId ?? (await makeApp(w)), { scopes, audiences });
  return (await insertAccessToken(w, grant)).text;
}
