import { type Case, others } from "./case.js";
import { exempt, requireCoverage } from "./coverage.js";
import { protocolCases } from "./protocols.js";
import { provisioningCases } from "./provisioning.js";
import { lists, points } from "./queries.js";
import { type Description, restCases } from "./rest.js";
import { scimCases } from "./scim.js";
import { taskCases } from "./tasks.js";

const special: readonly Case[] = [
  ...lists,
  ...points,
  ...scimCases,
  ...protocolCases,
  ...provisioningCases,
  ...taskCases,
];

/** Every read of a server, in all its ways to be narrowed. Throws if one lacks a case. */
export async function casesOf(server: URL): Promise<Case[]> {
  const description = (await (await fetch(new URL("/openapi.json", server))).json()) as Description;
  const cases = [
    ...special,
    ...others(special).filter(({ operation }) => !exempt[operation]),
    ...restCases(description, exempt),
  ];
  await requireCoverage(cases, description);
  return cases;
}
