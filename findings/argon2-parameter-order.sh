#!/usr/bin/env bash
# argon2 0.45.1 (npm)
# Expected: an encoded hash lists its parameters as m, t, p, the order of the reference implementation.
# Seen: m, p, t. The package verifies both orders; programs that parse the reference order reject what it writes.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund argon2@0.45.1
cat > try.mjs <<'JS'
import argon2 from "argon2";
const options = { type: argon2.argon2id, memoryCost: 8192, timeCost: 3, parallelism: 2 };
const [, , , parameters] = (await argon2.hash("a password", options)).split("$");
console.log(parameters);
if (parameters !== "m=8192,p=2,t=3") throw new Error("The order has changed.");
JS
node try.mjs
