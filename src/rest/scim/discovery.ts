import { area } from "../engine/area.js";
import { scimDialect } from "./dialect.js";

/** The discovery documents of the service (RFC 7644 §4). */
// oxfmt-ignore
export default area("scim/discovery", "The features, schemas and types of resources of the SCIM service.", [
  ["GET", "/scim/v2/ServiceProviderConfig", "GetServiceProviderConfig", 200],
  ["GET", "/scim/v2/Schemas",               "ListSchemas",              200],
  ["GET", "/scim/v2/Schemas/:urn",          "GetSchema",                200],
  ["GET", "/scim/v2/ResourceTypes",         "ListResourceTypes",        200],
  ["GET", "/scim/v2/ResourceTypes/:name",   "GetResourceType",          200],
], scimDialect);
