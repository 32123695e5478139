// A workspace proxy as a process of its own, which uses nothing of the server but GraphQL. It reports its health, sends
// reports on command, and decrypts keys handed to it. Commands come from the parent process.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { jwtDecrypt } from "jose";

const { STEWARD_URL: steward = "", PROXY_TOKEN: token = "", REPLICA_ID: replicaId = "", HOST: host = "" } = process.env;

const json = { "Content-Type": "application/json" };
const report = (errors: unknown, warnings: unknown) => (response: ServerResponse) =>
  void response.writeHead(200, json).end(JSON.stringify({ errors, warnings }));

/** Writes endlessly, as fast as the client reads. */
function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, " ");
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.writeHead(200, json).on("drain", more);
  more();
}

/** Writes a byte every 50 ms, endlessly. */
function trickle(response: ServerResponse): void {
  response.writeHead(200, json);
  const timer = setInterval(() => response.write(" "), 50);
  response.on("close", () => clearInterval(timer));
}

/** Requests that are left without a response. */
const kept: ServerResponse[] = [];

const behaviors: Record<string, (response: ServerResponse) => void> = {
  clean: report([], []),
  warning: report([], ["The disk is nearly full."]),
  failing: report(["The disk is full."], ["It is hot."]),
  verbose: report(Array(50).fill("x".repeat(600)), []),
  numbers: report([1], []),
  unwritable: report(["\0"], []),
  other: (response) => void response.writeHead(200, json).end("[]"),
  prose: (response) => void response.writeHead(200).end("I am fine."),
  broken: (response) => void response.writeHead(500).end(),
  strange: (response) => void response.writeHead(204).end(),
  metadata: (response) => void response.writeHead(302, { Location: "http://169.254.169.254/latest/meta-data/" }).end(),
  detour: (response) => void response.writeHead(307, { Location: "/elsewhere" }).end(),
  long: report([], ["x".repeat(64 * 1024)]),
  flood,
  trickle,
  silent: (response) => void kept.push(response),
  hangUp: (response) => void response.destroy(),
};

let behavior = "clean";
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${JSON.stringify(Object.keys(request.headers).sort())}`);
  const isReport = request.url === "/healthz-report";
  (isReport ? behaviors[behavior]! : behaviors.clean!)(response);
});
await new Promise<void>((done) => server.listen(0, host, done));
const url = `http://${host}:${(server.address() as AddressInfo).port}`;

async function say(query: string, variables: object): Promise<unknown> {
  const answer = await fetch(`${steward}/graphql`, {
    method: "POST",
    headers: { ...json, "Service-Proxy-Token": token },
    body: JSON.stringify({ query, variables }),
  });
  return { status: answer.status, ...((await answer.json()) as object) };
}

const keys = "appConnectKeys { kid key usableFrom retiredAt }";

type Given = Record<string, unknown>;

const commands: Record<string, (given: Given) => unknown> = {
  behave: ({ as }) => (behavior = as as string),
  asked: () => asked.splice(0),
  speak: () => kept.splice(0).forEach(behaviors.clean!),
  register: (given) =>
    say(
      `mutation($input: RegisterWorkspaceProxyInput!) {
        registerWorkspaceProxy(input: $input) { workspaceProxy { id status { status } } ${keys} } }`,
      { input: { accessUrl: url, replicaId, version: "1.0.0", hostname: "stand-in", ...given } },
    ),
  heartbeat: (given) =>
    say(
      `mutation($input: HeartbeatWorkspaceProxyInput!) {
        heartbeatWorkspaceProxy(input: $input) { workspaceProxy { version } ${keys} } }`,
      { input: { replicaId, ...given } },
    ),
  deregister: () =>
    say(
      `mutation($input: DeregisterWorkspaceProxyInput!) { deregisterWorkspaceProxy(input: $input) { workspaceProxy { id } } }`,
      { input: { replicaId } },
    ),
  open: async ({ message, key }) => jwtDecrypt(message as string, Buffer.from(key as string, "base64url")),
};

process.on("message", ({ id, command, given }: { id: number; command: string; given: Given }) => {
  Promise.resolve(given)
    .then(commands[command])
    .then(
      (result) => process.send!({ id, result }),
      (error: Error) => process.send!({ id, failure: error.message }),
    );
});
process.on("disconnect", () => process.exit());
process.send!({ id: 0, result: url });
