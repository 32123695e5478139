import type { Context } from "../kernel/context.js";
import { forbidden, notFound } from "../kernel/errors.js";
import type { Values } from "./evaluate.js";
import { listResponse } from "./scim-messages.js";
import { type Attribute, type ResourceType, resourceTypes, type Schema, schemas } from "./schema.js";

type Configured = Pick<Context, "config">;

const urnOf = (name: string) => `urn:ietf:params:scim:schemas:core:2.0:${name}`;

const baseUrl = ({ config }: Configured): string => `${config.accessUrl}/scim/v2`;

/** The features that the service supports (RFC 7643 §5, RFC 9865 §4). */
export const readServiceProviderConfig = (ctx: Configured): Values => ({
  schemas: [urnOf("ServiceProviderConfig")],
  patch: { supported: true },
  bulk: {
    supported: true,
    maxOperations: ctx.config.scimBulkMaxOperations,
    maxPayloadSize: ctx.config.scimMaxBody,
  },
  filter: { supported: true, maxResults: ctx.config.scimMaxCount },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  pagination: {
    cursor: true,
    index: true,
    defaultPaginationMethod: "index",
    defaultPageSize: ctx.config.scimDefaultCount,
    maxPageSize: ctx.config.scimMaxCount,
    cursorTimeout: Math.floor(ctx.config.scimCursorTtl / 1000),
  },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "SCIM key",
      description: "A SCIM key as bearer token.",
      specUri: "https://www.rfc-editor.org/rfc/rfc6750",
      primary: true,
    },
    {
      type: "httpbasic",
      name: "SCIM key as password",
      description: "A SCIM key as the password of HTTP Basic, with any user name.",
      specUri: "https://www.rfc-editor.org/rfc/rfc7617",
    },
  ],
  meta: { resourceType: "ServiceProviderConfig", location: `${baseUrl(ctx)}/ServiceProviderConfig` },
});

const schemaDocuments = (ctx: Configured): Values[] =>
  schemas.map(({ attributes, ...schema }: Schema) => ({
    schemas: [urnOf("Schema")],
    ...schema,
    attributes: attributes.map(describeAttribute),
    meta: { resourceType: "Schema", location: `${baseUrl(ctx)}/Schemas/${schema.id}` },
  }));

function describeAttribute(attribute: Attribute): Values {
  const { isMultiValued, isRequired, isCaseExact, subAttributes, type, isListable: _, ...rest } = attribute;
  return {
    ...rest,
    type,
    multiValued: isMultiValued,
    required: isRequired,
    ...(type !== "boolean" && type !== "complex" && { caseExact: isCaseExact }),
    ...(subAttributes && { subAttributes: subAttributes.map(describeAttribute) }),
  };
}

const typeDocuments = (ctx: Configured): Values[] =>
  resourceTypes.map(({ core, extensions, ...type }: ResourceType) => ({
    schemas: [urnOf("ResourceType")],
    id: type.name,
    ...type,
    schema: core.id,
    ...(extensions.length > 0 && {
      schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })),
    }),
    meta: { resourceType: "ResourceType", location: `${baseUrl(ctx)}/ResourceTypes/${type.name}` },
  }));

/** Lists the schemas (RFC 7643 §7). Throws FORBIDDEN for a filter (RFC 7644 §4). */
export const listScimSchemas = (ctx: Configured, filter?: string | null): Values =>
  listUnfiltered(schemaDocuments(ctx), filter);

/** Lists the types of resources (RFC 7643 §6). Throws FORBIDDEN for a filter (RFC 7644 §4). */
export const listScimResourceTypes = (ctx: Configured, filter?: string | null): Values =>
  listUnfiltered(typeDocuments(ctx), filter);

function listUnfiltered(documents: Values[], filter: string | null | undefined): Values {
  if (filter != null) throw forbidden("Forbidden.", { detail: "This list cannot be filtered." });
  return listResponse({ totalResults: documents.length, startIndex: 1, resources: documents });
}

/** Reads the schema with a URN. Throws NOT_FOUND. */
export const readScimSchema = (ctx: Configured, urn: string): Values => findById(schemaDocuments(ctx), urn);

/** Reads a type of resources by its name. Throws NOT_FOUND. */
export const readScimResourceType = (ctx: Configured, name: string): Values => findById(typeDocuments(ctx), name);

function findById(documents: readonly Values[], id: string): Values {
  const found = documents.find((each) => (each.id as string).toLowerCase() === id.toLowerCase());
  if (!found) throw notFound();
  return found;
}
