import { Connection } from "../connection.js";
import type { Case } from "./case.js";
import { queryCases } from "./queries.js";
import { type Description, restCases } from "./rest.js";

/** Every read of a server, for the roles that may read it, in all its ways to be narrowed. */
export async function casesOf(server: URL): Promise<Case[]> {
  const description = (await (await fetch(new URL("/openapi.json", server))).json()) as Description;
  using connection = await Connection.open(server);
  const read = async (bytes: string) => {
    const { status, body } = await connection.ask(bytes);
    return status === 200 && !body.includes('"errors":[{') && !/^\{"data":\{"\w+":null/.test(body) ? body : undefined;
  };
  return [...(await queryCases(read)), ...(await restCases(description, read))];
}
