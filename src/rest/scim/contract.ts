import { area, type RowOptions } from "../engine/area.js";
import { contractDialect } from "./dialect.js";
import { scimUser, scimUsers, userToWrite } from "./schemas.js";

const example = {
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  userName: "ada.lovelace@example.com",
  name: { givenName: "Ada", familyName: "Lovelace" },
  emails: [{ value: "ada.lovelace@example.com", type: "work", primary: true }],
  active: true,
};

const taken = "Another user has the userName or the email.";
const document: RowOptions = { document: "document", example, failures: { 409: taken } };
const created: RowOptions = { ...document, takes: userToWrite("userName"), returns: { 200: scimUser, 201: scimUser } };
const changed: RowOptions = { ...document, takes: userToWrite() };
// Only clients of RFC 7644 read single users.
const unread: RowOptions = {
  message: "Resource not found or you do not have access to it.",
  returns: { 200: scimUser },
};
const listed: RowOptions = { returns: { 200: scimUsers } };

// oxfmt-ignore
export default area("scim/contract", "Provisioning of users by an identity provider, for clients that send their key as `Authorizaiton`.", [
  ["GET",   "/scim/v2/Users",     "ListScimUsers",          200, listed],
  ["POST",  "/scim/v2/Users",     "UpsertScimUser",         200, created],
  ["GET",   "/scim/v2/Users/:id", "GetScimUser",            404, unread],
  ["PUT",   "/scim/v2/Users/:id", "ReplaceScimUserAccount", 200, changed],
  ["PATCH", "/scim/v2/Users/:id", "PatchScimUserAccount",   200, changed],
], contractDialect);
