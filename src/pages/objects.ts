import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { routeNotFound } from "../http/errors.js";
import type { Console } from "./console.js";
import { html } from "./html.js";
import { type PageHandler, perform, signInFirst } from "./visit.js";

/** Properties of an object, by what the page calls them. */
type Shown = Array<[label: string, text: string]>;

interface Named {
  name: string;
  displayName: string;
}

interface EventEndpointObject {
  name: string;
  organization: Named;
  state: string;
  lastFailure: string;
}

interface TaskObject extends Named {
  owner: { username: string };
  status: string;
  templateName: string;
  templateDisplayName: string;
}

interface TemplateObject extends Named {
  description: string;
  organization: Named;
  creator: { username: string };
  activeVersion: { name: string } | null;
}

interface UserObject {
  username: string;
  name: string;
  status: string;
}

interface WorkspaceObject {
  name: string;
  owner: { username: string };
  status: string;
  template: Named;
}

const titleOf = ({ name, displayName }: Named): string => displayName || name;

/** `IN_PROGRESS` → `in progress`. */
const word = (value: string): string => value.toLowerCase().replaceAll("_", " ");

/** A page of an object: its title and what it shows. */
interface Described {
  title: string;
  shown: Shown;
}

const eventEndpointPage = ({ name, organization, state, lastFailure }: EventEndpointObject): Described => ({
  title: name,
  shown: [
    ["Event endpoint", name],
    ["Organization", titleOf(organization)],
    ["Status", word(state)],
    ["Last failure", lastFailure],
  ],
});

const taskPage = (task: TaskObject): Described => ({
  title: titleOf(task),
  shown: [
    ["Task", task.name],
    ["Owner", task.owner.username],
    ["Status", word(task.status)],
    ["Template", task.templateDisplayName || task.templateName],
  ],
});

const templatePage = (template: TemplateObject): Described => ({
  title: titleOf(template),
  shown: [
    ["Template", template.name],
    ["Description", template.description],
    ["Organization", titleOf(template.organization)],
    ["Created by", template.creator.username],
    ["Status", template.activeVersion ? `version ${template.activeVersion.name} is active` : "no version is imported"],
  ],
});

const userPage = ({ username, name, status }: UserObject): Described => ({
  title: name || username,
  shown: [
    ["User", username],
    ["Status", word(status)],
  ],
});

const workspacePage = ({ name, owner, status, template }: WorkspaceObject): Described => ({
  title: name,
  shown: [
    ["Workspace", name],
    ["Owner", owner.username],
    ["Status", word(status)],
    ["Template", titleOf(template)],
  ],
});

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The pages of objects, to which notifications link: in the console, or without script. Unreadable ones are not found. */
export function objectPages(
  { documentWith }: Console,
  operation: (name: string) => StoredOperation,
): Record<string, PageHandler> {
  const pageOf =
    <Shape>(name: string, describe: (object: Shape) => Described): PageHandler =>
    async (visit) => {
      const ctx = await visit.context();
      if (ctx.actor.kind !== "user") return signInFirst(visit.http);
      const { id = "" } = visit.http.params;
      if (!idPattern.test(id)) throw routeNotFound();
      const { object } = await perform<{ object: Shape }>(operation(name), ctx, { id });
      const { title, shown } = describe(object);
      const rows = shown
        .filter(([, text]) => text !== "")
        .map(
          ([label, text]) =>
            html`<dt>${label}</dt>
              <dd>${text}</dd>`,
        );
      return documentWith({ title, main: html`<dl>${rows}</dl>` });
    };
  return {
    "/event-endpoints/:id": pageOf("EventEndpointPage", eventEndpointPage),
    "/tasks/:id": pageOf("TaskPage", taskPage),
    "/templates/:id": pageOf("TemplatePage", templatePage),
    "/users/:id": pageOf("UserPage", userPage),
    "/workspaces/:id": pageOf("WorkspacePage", workspacePage),
  };
}
