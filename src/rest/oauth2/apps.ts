import { area, type RowOptions } from "../engine/area.js";

const listed: RowOptions = { sends: { "X-Total-Count": "total" } };
const created: RowOptions = { example: { name: "Editor", callback_url: "https://editor.example.com/callback" } };
const updated: RowOptions = {
  example: { name: "Editor", callback_url: "https://editor.example.com/callback", icon: "/icons/editor.svg" },
  failures: { 409: "A metadata document determines the properties of the application." },
};
const newSecret: RowOptions = {
  oneElementArray: true,
  failures: { 409: "The application has 10 secrets, the most it can have." },
};

// oxfmt-ignore
export default area("oauth2/apps", "OAuth2 applications and their secrets.", [
  ["GET",    "/api/v2/oauth2-provider/apps",                         "ListOAuth2Apps",        200, listed],
  ["POST",   "/api/v2/oauth2-provider/apps",                         "CreateOAuth2App",       200, created],
  ["GET",    "/api/v2/oauth2-provider/apps/:app",                    "GetOAuth2App",          200],
  ["PUT",    "/api/v2/oauth2-provider/apps/:app",                    "UpdateOAuth2App",       200, updated],
  ["DELETE", "/api/v2/oauth2-provider/apps/:app",                    "DeleteOAuth2App",       204],
  ["GET",    "/api/v2/oauth2-provider/apps/:app/secrets",            "ListOAuth2AppSecrets",  200],
  ["POST",   "/api/v2/oauth2-provider/apps/:app/secrets",            "CreateOAuth2AppSecret", 200, newSecret],
  ["DELETE", "/api/v2/oauth2-provider/apps/:app/secrets/:secretID",  "DeleteOAuth2AppSecret", 204],
]);
