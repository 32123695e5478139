import { longestText } from "../../domain/scim/scim-documents.js";
import { longestUserName } from "../../domain/scim/user-mapping.js";
import { type Json, objectOf } from "../engine/openapi/schemas.js";

const text = (description: string, more: Json = {}): Json => ({
  type: "string",
  ...("format" in more ? {} : { maxLength: longestText }),
  ...more,
  description,
});

const flag = (description: string): Json => ({ type: "boolean", description });

const optional = (properties: Json): Json =>
  objectOf(Object.entries(properties as Record<string, Json>).map(([name, schema]) => [name, schema, false]));

const address = optional({
  value: text("The address.", { format: "email", maxLength: longestText }),
  display: text("A readable name of the address."),
  type: text("The kind of the address: `work`, `home` or `other`."),
  primary: flag("Whether this is the address of the account. At most one is."),
});

const properties: Readonly<Record<string, Json>> = {
  schemas: {
    type: "array",
    items: { type: "string", maxLength: longestText },
    description: "URNs of the schemas of the resource.",
  },
  id: text("ID of the user.", { format: "uuid", readOnly: true }),
  userName: text("The name by which the identity provider knows the user. Unique in any letter case.", {
    maxLength: longestUserName,
  }),
  name: {
    ...optional({ givenName: text("The given name."), familyName: text("The family name.") }),
    description: "The parts of the real name.",
  },
  emails: {
    type: "array",
    items: address,
    description: "The addresses. The account has the primary one, else the first of type `work`, else the first.",
  },
  active: flag("Whether the user may sign in. False suspends the user, and ends all access immediately."),
  groups: {
    type: "array",
    items: optional({
      value: text("ID of the group.", { format: "uuid" }),
      $ref: text("URL of the group.", { format: "uri" }),
      display: text("Name of the group."),
      type: text("How the user belongs to the group: `direct`."),
    }),
    readOnly: true,
    description: "The groups of the user. Ignored in requests.",
  },
  meta: {
    ...optional({ resourceType: text("`User`.") }),
    readOnly: true,
    description: "Metadata of the resource. Ignored in requests.",
  },
};

const description = "A user as identity providers see it (RFC 7643 §4.1).";

/** A user in responses. */
export const scimUser = { name: "ScimUser", schema: { ...optional(properties), description } };

/** A user in requests. Further attributes of SCIM are kept. */
export const userToWrite = (...required: readonly string[]): Json => ({
  ...objectOf(Object.entries(properties).map(([name, schema]) => [name, schema, required.includes(name)])),
  description: `${description} Other attributes of the schema are kept.`,
});

/** A page of users. */
export const scimUsers = {
  name: "ScimUsers",
  schema: {
    ...objectOf([
      ["schemas", { type: "array", items: { type: "string" }, description: "The URN of list responses." }, true],
      ["totalResults", { type: "integer", description: "Number of users that the filter matches." }, true],
      ["itemsPerPage", { type: "integer", description: "Number of users of this page." }, false],
      ["startIndex", { type: "integer", description: "Position of the first user of the page, from 1." }, false],
      ["nextCursor", text("Cursor of the next page, if there is one."), false],
      [
        "Resources",
        {
          type: "array",
          // The projection of the request decides which attributes a user has.
          items: { type: "object", additionalProperties: true },
          description: "The users, with all of their attributes unless the request selects some.",
        },
        true,
      ],
    ]),
    description: "A page of users (RFC 7644 §3.4.2).",
  },
};
