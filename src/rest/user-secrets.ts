import { area } from "./engine/area.js";

export default area("user-secrets", [
  ["GET", "/api/v2/users/:user/secrets", "ListUserSecrets", 200],
  ["POST", "/api/v2/users/:user/secrets", "CreateUserSecret", 201],
  ["GET", "/api/v2/users/:user/secrets/:name", "GetUserSecret", 200],
  ["PATCH", "/api/v2/users/:user/secrets/:name", "UpdateUserSecret", 200],
  ["DELETE", "/api/v2/users/:user/secrets/:name", "DeleteUserSecret", 204],
]);
