import type { Spelling } from "../../graphql/engine/variables.js";

/** `displayName` → `display_name`. */
export const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** How the contract writes what GraphQL declares. */
export const asOnTheWire: Spelling = {
  field: snakeCase,
  enumValue: ({ value }) => String(value),
  nullIsAbsent: true,
  isStrict: false,
  maps: true,
  takesLoneItems: false,
};
