import { registerEnumType } from "type-graphql";
import { WorkspaceTransition } from "../../domain/workspaces/workspaces.js";

registerEnumType(WorkspaceTransition, {
  name: "WorkspaceTransition",
  description: "What a build does with its workspace.",
  valuesConfig: {
    START: { description: "Starts it, from new resources or those that were kept." },
    STOP: { description: "Stops it. Resources that are kept while it is stopped remain." },
    DELETE: { description: "Deletes it with all of its resources." },
  },
});

export { WorkspaceTransition };
