import { conflictOn, onViolation } from "../kernel/errors.js";

/** Handles failed writes of workspaces. Throws CONFLICT if the owner has another one of the name. */
export const nameViolated = onViolation({
  workspaces_name_unique: () => conflictOn("name", "The owner has another workspace of this name."),
});
