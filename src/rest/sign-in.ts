import { area, type RowOptions } from "./engine/area.js";

const email = "ada@example.com";
const password = "plum-Harbor-kite-77";
const wrong =
  "The email or the password is wrong, or the account is suspended. Or, after the right password only: the account has a second factor, and `one_time_code` is missing or wrong; or it has none, and had to add one by now.";
const disabled = "Password authentication is disabled.";
const otherwise = `${disabled} Or: the account signs in by a provider.`;

const login: RowOptions = { example: { email, password }, failures: { 401: wrong, 403: otherwise } };
const requested: RowOptions = { example: { email }, failures: { 403: disabled } };
const changed: RowOptions = {
  example: { email, one_time_passcode: "4KX7M2QHTP", password: "birch-Lantern-mosaic-41" },
  failures: { 403: disabled },
};
const converted: RowOptions = {
  example: { to_type: "github", password },
  failures: { 409: "Another request has changed the account." },
};

// oxfmt-ignore
export default area("sign-in", "Sessions, forgotten passwords, and changes of the way to sign in.", [
  ["POST", "/api/v2/users/login",               "Login",                      201, login],
  ["POST", "/api/v2/users/otp/request",         "RequestOneTimePasscode",     204, requested],
  ["POST", "/api/v2/users/otp/change-password", "ChangePasswordWithPasscode", 204, changed],
  ["POST", "/api/v2/users/validate-password",   "ValidatePassword",           200, { example: { password } }],
  ["POST", "/api/v2/users/:user/convert-login", "ConvertLogin",               201, converted],
]);
