import { request } from "../requests.js";
import type { Case } from "./case.js";
import { known, tokenOf, users } from "./known.js";

const page = 100;

const get = (path: string) => request("GET", `/scim/v2${path}`, { bearer: tokenOf("owner") });

const listed = (query: Readonly<Record<string, string | number>>, endpoint = "/Users") =>
  get(
    `${endpoint}?${Object.entries(query)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join("&")}`,
  );

const scimCase = (operation: string, what: string, build: Case["request"]): Case => ({
  operation: `GET /scim/v2/${operation}`,
  role: "owner",
  what,
  isDeep: false,
  request: build,
});

const plain = (operation: string, what: string, bytes: string) => scimCase(operation, what, async () => bytes);

const find = (what: string, filter: string) => plain("Users", what, listed({ filter }));

/** The cursor of the page in the middle of all users, which only the pages before it give. */
async function middleCursor(ask: (bytes: string) => Promise<string>): Promise<string> {
  let [cursor, total, seen] = ["", 1, 0];
  for (; seen < total / 2; seen += page) {
    const response = await ask(listed({ cursor, count: page }));
    total = Number(/"totalResults":(\d+)/.exec(response)?.[1] ?? 1);
    cursor = /"nextCursor":"([^"]*)"/.exec(response)?.[1] ?? "";
  }
  return cursor;
}

async function middleIndex(ask: (bytes: string) => Promise<string>): Promise<number> {
  const response = await ask(listed({ count: 0 }));
  return Math.ceil(Number(/"totalResults":(\d+)/.exec(response)?.[1] ?? 2) / 2);
}

/** The requests of identity providers, as the owner, who sees the links of the usual source. */
export const scimCases: readonly Case[] = [
  plain("Users/{id}", "with a link", get(`/Users/${known.user(users.ordinary)}`)),
  plain("Users/{id}", "without a link", get(`/Users/${known.user(users.ordinary + 1)}`)),
  find("userName eq, of a link", `userName eq "Linked-${users.ordinary}@example.com"`),
  find("userName eq, of an account", `userName eq "user-${users.member}"`),
  find("userName eq, unknown", 'userName eq "unknown@example.org"'),
  find("externalId eq", `externalId eq "ext-${users.ordinary}"`),
  find("emails.value eq", `emails.value eq "user-${users.ordinary}@example.com"`),
  find("userName co, rare", 'userName co "zebul"'),
  find("userName sw, rare", 'userName sw "zebul"'),
  find("emails co, rare", 'emails.value co "user-105@"'),
  plain("Users", "first page", listed({ count: page })),
  plain("Users", "one user and the number", listed({ count: 1, startIndex: 1 })),
  plain("Users", "sorted, ids only", listed({ count: page, sortBy: "id", sortOrder: "descending", attributes: "id" })),
  plain("Users", "without groups", listed({ count: page, excludedAttributes: "groups" })),
  scimCase("Users", "page by cursor in the middle", async (ask) =>
    listed({ cursor: await middleCursor(ask), count: page }),
  ),
  scimCase("Users", "page by startIndex in the middle", async (ask) =>
    listed({ startIndex: await middleIndex(ask), count: page }),
  ),
  plain("Groups/{id}", "group of 50", get(`/Groups/${known.fiftyMembers}`)),
  plain("Groups", "first page", listed({ count: page }, "/Groups")),
  plain("Groups", "displayName eq", listed({ filter: 'displayName eq "Group 10"' }, "/Groups")),
  plain("Groups", "members.value eq", listed({ filter: `members.value eq "${known.user(users.member)}"` }, "/Groups")),
];
