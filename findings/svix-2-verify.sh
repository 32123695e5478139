#!/usr/bin/env bash
# svix 2.5.0, standardwebhooks 1.1.1 (npm)
# Expected: `const event = new Webhook(secret).verify(body, headers)` is the event, as in svix 1 and in the library of Standard
# Webhooks, which sign and verify alike.
# Seen: in svix 2, `verify` throws for a wrong signature, but returns nothing for a right one: the receiver parses the body.
# Code that is written for one of the two and gets the other fails at the first valid message.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund svix@2.5.0 standardwebhooks@1.1.1
cat > try.mjs <<'JS'
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const body = JSON.stringify({ type: "group.create", data: { id: 1 } });
const at = new Date();
const headers = {
  "webhook-id": "message",
  "webhook-timestamp": String(Math.floor(at / 1000)),
  "webhook-signature": new Standard(secret).sign("message", at, body),
};
const [standard, svix] = [new Standard(secret), new Svix(secret)].map((webhook) => webhook.verify(body, headers));
console.log({ standard, svix });
if (standard?.type !== "group.create") throw new Error("The library of Standard Webhooks no longer returns the event.");
if (svix !== undefined) throw new Error("svix returns something.");
let isRejected = false;
try {
  new Svix(secret).verify(`${body} `, headers);
} catch {
  isRejected = true;
}
if (!isRejected) throw new Error("Another body is not rejected.");
JS
node try.mjs
