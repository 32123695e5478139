import { area, type RowOptions } from "./engine/area.js";

const taken =
  "Another secret of the user has the name, the environment variable, or the file, or a file above or below it.";
const created: RowOptions = {
  example: { name: "registry-token", value: "s3cr3t", env_name: "REGISTRY_TOKEN" },
  failures: { 409: taken },
};
const updated: RowOptions = { example: { description: "Reads packages" }, failures: { 409: taken } };

export default area("user-secrets", "Values that users store for their workspaces. They are never returned.", [
  ["GET", "/api/v2/users/:user/secrets", "ListUserSecrets", 200],
  ["POST", "/api/v2/users/:user/secrets", "CreateUserSecret", 201, created],
  ["GET", "/api/v2/users/:user/secrets/:name", "GetUserSecret", 200],
  ["PATCH", "/api/v2/users/:user/secrets/:name", "UpdateUserSecret", 200, updated],
  ["DELETE", "/api/v2/users/:user/secrets/:name", "DeleteUserSecret", 204],
]);
