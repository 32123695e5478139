/** The schemas of SCIM resources (RFC 7643): what filters, changes, projections and discovery know about attributes. */

export type AttributeType = "string" | "boolean" | "dateTime" | "reference" | "binary" | "complex";

export interface Attribute {
  readonly name: string;
  readonly description: string;
  readonly type: AttributeType;
  readonly isMultiValued: boolean;
  readonly isRequired: boolean;
  /** Whether letter case matters in comparisons. */
  readonly isCaseExact: boolean;
  readonly mutability: "readOnly" | "readWrite" | "writeOnly" | "immutable";
  readonly returned: "always" | "default" | "never" | "request";
  readonly uniqueness: "none" | "server";
  readonly canonicalValues?: readonly string[];
  readonly referenceTypes?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
  /** Whether clients may send a single value as a list of one, as some do. */
  readonly isListable?: boolean;
}

export interface Schema {
  /** Its URN. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
}

/** A type of resources, with its extensions. */
export interface ResourceType {
  readonly name: "User" | "Group";
  /** Relative to the base URL. */
  readonly endpoint: "/Users" | "/Groups";
  readonly description: string;
  readonly core: Schema;
  readonly extensions: readonly Schema[];
}

const attribute = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  description,
  type: "string",
  isMultiValued: false,
  isRequired: false,
  isCaseExact: more.type === "reference" || more.type === "binary",
  mutability: "readWrite",
  returned: "default",
  uniqueness: "none",
  ...more,
});

const complex = (name: string, description: string, subAttributes: Attribute[], more: Partial<Attribute> = {}) =>
  attribute(name, description, { type: "complex", subAttributes, ...more });

/** A multi-valued attribute with the usual sub-attributes (RFC 7643 §2.4). */
const several = (
  name: string,
  noun: string,
  types: string[],
  value: Partial<Attribute> = {},
  more: Partial<Attribute> = {},
) =>
  complex(
    name,
    `The ${noun}s of the user.`,
    [
      attribute("value", `The ${noun}.`, value),
      attribute("display", `A readable name of the ${noun}.`),
      attribute("type", `The kind of the ${noun}.`, { canonicalValues: types }),
      attribute("primary", `Whether this is the preferred ${noun}. At most one is.`, { type: "boolean" }),
    ],
    { isMultiValued: true, ...more },
  );

const readOnly = { mutability: "readOnly" } as const;
const immutable = { mutability: "immutable" } as const;

/** The attributes of every resource, which no schema lists (RFC 7643 §3.1). */
export const commonAttributes: readonly Attribute[] = [
  attribute("schemas", "The schemas of the resource.", { isMultiValued: true, returned: "always", ...readOnly }),
  attribute("id", "The ID of the resource.", { isCaseExact: true, returned: "always", ...readOnly }),
  attribute("externalId", "The ID of the resource at the identity provider.", { isCaseExact: true }),
  complex(
    "meta",
    "Metadata of the resource.",
    [
      attribute("resourceType", "The type of the resource.", { isCaseExact: true }),
      attribute("created", "When the resource was created.", { type: "dateTime" }),
      attribute("lastModified", "When the resource was last changed.", { type: "dateTime" }),
      attribute("location", "The URL of the resource.", { type: "reference", referenceTypes: ["uri"] }),
      attribute("version", "The version of the resource, which is its ETag.", { isCaseExact: true }),
    ],
    readOnly,
  ),
];

export const userUrn = "urn:ietf:params:scim:schemas:core:2.0:User";
export const enterpriseUrn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const groupUrn = "urn:ietf:params:scim:schemas:core:2.0:Group";

const user: Schema = {
  id: userUrn,
  name: "User",
  description: "A person with an account.",
  attributes: [
    attribute("userName", "The name by which the identity provider knows the user.", {
      isRequired: true,
      uniqueness: "server",
    }),
    complex("name", "The parts of the real name.", [
      attribute("formatted", "The full name, as it is shown."),
      attribute("familyName", "The family name."),
      attribute("givenName", "The given name."),
      attribute("middleName", "The middle names."),
      attribute("honorificPrefix", "The honorific before the name."),
      attribute("honorificSuffix", "The suffix after the name."),
    ]),
    attribute("displayName", "The name to show, if there is no formatted name."),
    attribute("nickName", "A casual name."),
    attribute("profileUrl", "The URL of a profile. It is never fetched.", {
      type: "reference",
      referenceTypes: ["external"],
    }),
    attribute("title", "The job title."),
    attribute("userType", "The relation to the organization, such as Employee."),
    attribute("preferredLanguage", "The preferred language."),
    attribute("locale", "The locale for dates and numbers."),
    attribute("timezone", "The time zone."),
    attribute("active", "Whether the user may sign in.", { type: "boolean" }),
    attribute("password", "Accepted and ignored.", { mutability: "writeOnly", returned: "never", isCaseExact: true }),
    several(
      "emails",
      "email address",
      ["work", "home", "other"],
      { uniqueness: "server", isRequired: true },
      { isRequired: true },
    ),
    several("phoneNumbers", "phone number", ["work", "home", "mobile", "fax", "pager", "other"]),
    several("ims", "instant messaging address", []),
    several("photos", "photo", ["photo", "thumbnail"], {
      type: "reference",
      referenceTypes: ["external"],
      isCaseExact: true,
    }),
    complex(
      "addresses",
      "The postal addresses of the user.",
      [
        attribute("formatted", "The full address."),
        attribute("streetAddress", "The street and the house number."),
        attribute("locality", "The city."),
        attribute("region", "The state or region."),
        attribute("postalCode", "The postal code."),
        attribute("country", "The country."),
        attribute("type", "The kind of the address.", { canonicalValues: ["work", "home", "other"] }),
        attribute("primary", "Whether this is the preferred address. At most one is.", { type: "boolean" }),
      ],
      { isMultiValued: true },
    ),
    complex(
      "groups",
      "The groups of the user, at most 1000. Everyone is left out.",
      [
        attribute("value", "The ID of the group.", { isCaseExact: true, ...readOnly }),
        attribute("$ref", "The URL of the group.", { type: "reference", referenceTypes: ["Group"], ...readOnly }),
        attribute("display", "The display name of the group.", readOnly),
        attribute("type", "How the user is a member.", { canonicalValues: ["direct"], ...readOnly }),
      ],
      { isMultiValued: true, ...readOnly },
    ),
    several("entitlements", "entitlement", []),
    several("roles", "role", []),
    several("x509Certificates", "certificate", [], { type: "binary", isCaseExact: true }),
  ],
};

const enterprise: Schema = {
  id: enterpriseUrn,
  name: "EnterpriseUser",
  description: "A user as an employee.",
  attributes: [
    attribute("employeeNumber", "The employee number."),
    attribute("costCenter", "The cost center."),
    attribute("organization", "The organization."),
    attribute("division", "The division."),
    attribute("department", "The department."),
    complex(
      "manager",
      "The manager.",
      [
        attribute("value", "The ID of the manager.", { isCaseExact: true }),
        attribute("$ref", "The URL of the manager. It is never fetched.", {
          type: "reference",
          referenceTypes: ["User"],
        }),
        attribute("displayName", "The display name of the manager."),
      ],
      { isListable: true },
    ),
  ],
};

const group: Schema = {
  id: groupUrn,
  name: "Group",
  description: "A group of users of an organization.",
  attributes: [
    attribute("displayName", "The name of the group.", { isRequired: true, uniqueness: "server" }),
    complex(
      "members",
      "The members of the group.",
      [
        attribute("value", "The ID of the user.", { isCaseExact: true, isRequired: true, ...immutable }),
        attribute("$ref", "The URL of the user. Ignored in requests.", {
          type: "reference",
          referenceTypes: ["User"],
          ...immutable,
        }),
        attribute("display", "The display name of the user.", readOnly),
        attribute("type", "The type of the member.", { canonicalValues: ["User"], ...immutable }),
      ],
      { isMultiValued: true },
    ),
  ],
};

export const userType: ResourceType = {
  name: "User",
  endpoint: "/Users",
  description: "User accounts",
  core: user,
  extensions: [enterprise],
};

export const groupType: ResourceType = {
  name: "Group",
  endpoint: "/Groups",
  description: "Groups",
  core: group,
  extensions: [],
};

export const resourceTypes: readonly ResourceType[] = [userType, groupType];

export const schemas: readonly Schema[] = [user, enterprise, group];
