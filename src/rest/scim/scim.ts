import { area, type RowOptions } from "../engine/area.js";
import { scimDialect } from "./dialect.js";

const sends = { ETag: "etag", Location: "location" };
const read: RowOptions = { headers: { "if-none-match": "ifNoneMatch" }, sends };
const bulk: RowOptions = { document: "document" };
const created: RowOptions = { ...bulk, sends };
const changed: RowOptions = { ...created, headers: { "if-match": "ifMatch" } };
const deleted: RowOptions = { headers: { "if-match": "ifMatch" } };

/** The rows of RFC 7644. The service describes them itself, at `/scim/v2/Schemas` and its neighbors. */
// oxfmt-ignore
export default area("scim/scim", "Provisioning of users and groups by SCIM 2.0 (RFC 7644).", [
  ["POST",   "/scim/v2/.search",               "SearchResources",          200],
  ["GET",    "/scim/v2/Users",                 "ListUsers",                200],
  ["POST",   "/scim/v2/Users/.search",         "SearchUsers",              200],
  ["POST",   "/scim/v2/Users",                 "CreateUser",               201, created],
  ["GET",    "/scim/v2/Users/:id",             "GetUser",                  200, read],
  ["PUT",    "/scim/v2/Users/:id",             "ReplaceUser",              200, changed],
  ["PATCH",  "/scim/v2/Users/:id",             "PatchUser",                200, changed],
  ["DELETE", "/scim/v2/Users/:id",             "DeleteUser",               204, deleted],
  ["GET",    "/scim/v2/Groups",                "ListGroups",               200],
  ["POST",   "/scim/v2/Groups/.search",        "SearchGroups",             200],
  ["POST",   "/scim/v2/Groups",                "CreateGroup",              201, created],
  ["GET",    "/scim/v2/Groups/:id",            "GetGroup",                 200, read],
  ["PUT",    "/scim/v2/Groups/:id",            "ReplaceGroup",             200, changed],
  ["PATCH",  "/scim/v2/Groups/:id",            "PatchGroup",               200, changed],
  ["DELETE", "/scim/v2/Groups/:id",            "DeleteGroup",              204, deleted],
  ["POST",   "/scim/v2/Bulk",                  "RunBulk",                  200, bulk],
], scimDialect);
