import { area } from "../engine/area.js";
import { apiDialect, type Dialect } from "../engine/dialects.js";

const cached: Dialect = { ...apiDialect, isCached: true };

// oxfmt-ignore
export default area("oauth2/discovery", "The metadata of the authorization server and of its resources, which clients read to get access.", [
  ["GET", "/.well-known/oauth-authorization-server",       "GetServerMetadata",                     200],
  ["GET", "/.well-known/oauth-protected-resource",         "GetProtectedResourceMetadata",          200],
  ["GET", "/.well-known/oauth-protected-resource/api/v2",  "GetProtectedResourceMetadataOfRest",    200],
  ["GET", "/.well-known/oauth-protected-resource/graphql", "GetProtectedResourceMetadataOfGraphql", 200],
  ["GET", "/.well-known/oauth-protected-resource/mcp",     "GetProtectedResourceMetadataOfMcp",     200],
], cached);
