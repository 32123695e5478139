import { area } from "./engine/area.js";

export default area("sign-in", [
  ["POST", "/api/v2/users/login", "Login", 201],
  ["POST", "/api/v2/users/otp/request", "RequestOneTimePasscode", 204],
  ["POST", "/api/v2/users/otp/change-password", "ChangePasswordWithPasscode", 204],
  ["POST", "/api/v2/users/validate-password", "ValidatePassword", 200],
  ["POST", "/api/v2/users/:user/convert-login", "ConvertLogin", 201],
]);
