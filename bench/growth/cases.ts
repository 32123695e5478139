import { type Case, others } from "./case.js";
import { protocolCases } from "./protocols.js";
import { provisioningCases } from "./provisioning.js";
import { lists, points } from "./queries.js";
import { restCases } from "./rest.js";
import { scimCases } from "./scim.js";
import { taskCases } from "./tasks.js";

const special: readonly Case[] = [
  ...lists,
  ...points,
  ...restCases,
  ...scimCases,
  ...protocolCases,
  ...provisioningCases,
  ...taskCases,
];

/** Every read, in all its ways to be narrowed. */
export const cases: readonly Case[] = [...special, ...others(special)];
