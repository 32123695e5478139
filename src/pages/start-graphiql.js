// Starts GraphiQL. The page carries the CSRF token of a signed-in user.
const assets = new URL(".", document.currentScript.src).href;
const csrfToken = document.querySelector("meta[name=csrf-token]")?.content;

/** The text of the headers editor. It stays on the page: nothing of it is stored. */
let headers = JSON.stringify({ "Service-Session-Token": "" }, null, 2);

/** The token in the headers, by the server's order. Browsers send no headers with a WebSocket; without a token the cookie counts. */
function tokenInHeaders() {
  const given = new Headers(JSON.parse(headers.trim() || "{}"));
  return given.get("service-session-token") || /^bearer +(.*)$/i.exec(given.get("authorization") ?? "")?.[1];
}

self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_, label) =>
    assets + ({ json: "json-worker.js", graphql: "graphql-worker.js" }[label] ?? "editor-worker.js"),
};
YogaGraphiQL.renderYogaGraphiQL(document.querySelector("#root"), {
  endpoint: "/graphql",
  title: " ",
  logo: "",
  subscriptionsProtocol: "GRAPHQL_WS",
  additionalHeaders: csrfToken ? { "X-CSRF-Token": csrfToken } : {},
  headers,
  shouldPersistHeaders: false,
  onEditHeaders: (text) => {
    headers = text;
  },
  connectionParams: () => ({ sessionToken: tokenInHeaders() }),
  defaultQuery: csrfToken
    ? "{\n  me {\n    username\n    email\n  }\n}\n"
    : "{\n  serverInfo {\n    version\n    accessUrl\n  }\n}\n",
});
