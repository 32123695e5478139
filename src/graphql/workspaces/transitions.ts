import { WorkspaceTransition } from "../../domain/workspaces/workspaces.js";
import { enumType } from "../engine/declarations.js";

enumType({ WorkspaceTransition }, "The transition of a workspace by a build.", {
  START: "Starts it, from new resources or those that were kept.",
  STOP: "Stops it. Resources that are kept while it is stopped remain.",
  DELETE: "Deletes it with all of its resources.",
});

export { WorkspaceTransition };
