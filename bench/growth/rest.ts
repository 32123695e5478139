import { numbered } from "../data.js";
import { get } from "../requests.js";
import type { Case } from "./case.js";
import { known, tokenOf, users } from "./known.js";

/** The part of `/openapi.json` that names what can be read. */
export interface Description {
  paths: Record<string, { get?: { parameters?: Array<{ name: string; in: string }> } }>;
}

/** The names of the query parameters of a GET. */
export const parametersOf = (operation: NonNullable<Description["paths"][string]["get"]>): string[] =>
  (operation.parameters ?? []).filter((each) => each.in === "query").map((each) => each.name);

const app = numbered("c", 0);

/** The objects that paths name, by parameter. */
const objects: Readonly<Record<string, readonly string[]>> = {
  app: [app],
  group: [known.fiftyMembers, known.group(0)],
  groupName: ["group-10", "Everyone"],
  name: ["secret-1"],
  organization: ["default"],
  // Paused, so that its log is stored.
  task: [known.task(0)],
  template: [known.template(1)],
  user: ["me"],
  workspaceproxy: ["proxy-1"],
};

/** Values of query parameters. */
const usual: Readonly<Record<string, readonly string[]>> = {
  after_id: [known.user(users.ordinary + 20)],
  exclude_members: ["true"],
  group_ids: [`${known.fiftyMembers},${known.group(11)}`],
  has_member: [`user-${users.member}`],
  limit: ["50"],
  offset: ["400"],
  organization: [known.sideOrganization],
  q: ["zebulon", "user"],
  read_status: ["unread", "read"],
  starting_before: [known.notification(201)],
  targets: [known.target(0)],
  templates: [known.template(1)],
  user_id: [known.user(users.member)],
};

/** The same of paths that take others. */
const special: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "/api/v2/connectionlog": { q: ["type:jetbrains"], offset: ["5000"] },
  "/api/v2/oauth2-provider/apps": { q: ["app%201"], after_id: [app], limit: ["20"], offset: ["20"] },
  "/api/v2/tasks": { q: ["status:active"], offset: ["50"] },
};

/** Every GET of a description: with the objects of its path, and with each value of each query parameter beside a limit. */
export const restCases = ({ paths }: Description, exempt: Readonly<Record<string, string>>): Case[] =>
  Object.entries(paths).flatMap(([template, { get: operation }]) => {
    const name = `GET ${template}`;
    if (!operation || exempt[name] || template.startsWith("/scim/")) return [];
    const role = /\{user\}|\/inbox$/.test(template) ? "member" : "owner";
    const values = { ...usual, ...special[template] };
    const parameters = parametersOf(operation);
    const limit = parameters.includes("limit") ? [`limit=${values.limit![0]}`] : [];
    const narrowed = parameters
      .filter((each) => each !== "limit")
      .flatMap((each) => (values[each] ?? []).map((value) => [...limit, `${each}=${value}`]));
    return pathsOf(template).flatMap((path) =>
      [limit, ...narrowed].map((query): Case => {
        const text = [path, query.join("&")].filter(Boolean).join("?");
        return {
          operation: name,
          role,
          what: text,
          isDeep: text.includes("offset="),
          request: async () => get(text, tokenOf(role)),
        };
      }),
    );
  });

/** The paths of a template with all objects. */
function pathsOf(template: string): string[] {
  const [parameter, name] = /\{(\w+)\}/.exec(template) ?? [];
  if (parameter === undefined || name === undefined) return [template];
  const values = objects[name];
  if (!values) throw new Error(`There is no known object for ${name} in ${template}.`);
  return values.flatMap((value) => pathsOf(template.replace(parameter, value)));
}
