#!/usr/bin/env bash
# graphql-ws 6.4.2, ws 8.23.0, graphql 16.15.0 (npm)
# Expected: a subscription whose server closes the socket with 1000 (normal closure) either ends, or is tried again as after
# other closures: at most `retryAttempts` times, with the pauses of `retryWait`.
# Seen: the client subscribes again at once, for as long as the server closes with 1000: neither setting counts. After 1012
# it pauses each time; but `retryAttempts` begins anew with each connection that succeeds, so that it does not end either.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund graphql-ws@6.4.2 ws@8.23.0 graphql@16.15.0
cat > try.mjs <<'JS'
import { createClient } from "graphql-ws";
import WebSocket, { WebSocketServer } from "ws";

/** Counts the subscriptions of a client that may try twice, while a server closes its sockets with a code: at most 20. */
async function subscriptions(code) {
  let count = 0;
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const waits = [];
  server.on("connection", (socket) =>
    socket.on("message", (data) => {
      const { type, id } = JSON.parse(data);
      if (type === "connection_init") return socket.send('{"type":"connection_ack"}');
      if (type !== "subscribe") return;
      // After twenty, the subscription is completed.
      if (++count === 20) return socket.send(JSON.stringify({ type: "complete", id }));
      socket.close(code, "");
    }),
  );
  await new Promise((done) => server.once("listening", done));
  const client = createClient({
    url: `ws://127.0.0.1:${server.address().port}`,
    webSocketImpl: WebSocket,
    retryAttempts: 2,
    retryWait: async (retries) => void waits.push(retries),
  });
  await new Promise((ended) => {
    client.subscribe({ query: "subscription { x }" }, { next() {}, error: ended, complete: ended });
  });
  await client.dispose();
  for (const socket of server.clients) socket.terminate();
  server.close();
  return { count, waits: waits.length };
}

const [normal, restart] = [await subscriptions(1000), await subscriptions(1012)];
console.log({ normal, restart });
if (normal.count !== 20 || normal.waits !== 0) throw new Error("After 1000 it no longer subscribes again at once.");
if (restart.count !== 20 || restart.waits !== 19) throw new Error("After 1012 the attempts are counted otherwise.");
JS
node try.mjs
