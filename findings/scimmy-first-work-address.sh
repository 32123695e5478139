#!/usr/bin/env bash
# scimmy 1.3.5 (npm)
# Expected: Entra's first work address, with the path emails[type eq "work"].value, adds an address of this type to somebody
# who has none: by Add at least (RFC 7644 3.5.2.1 adds what does not exist), since Entra sends exactly this.
# Seen: both Add and Replace fail with `noTarget`. For Replace, RFC 7644 3.5.2.3 asks for that; for Add, it surprises.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund scimmy@1.3.5
cat > try.mjs <<'JS'
import SCIMMY from "scimmy";
const user = new SCIMMY.Schemas.User({ id: "1", userName: "ada", displayName: "Ada" });
for (const op of ["Add", "Replace"]) {
  const operations = [{ op, path: 'emails[type eq "work"].value', value: "ada@corp.example.com" }];
  const message = new SCIMMY.Messages.PatchOp({ schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: operations });
  const result = await message.apply(user).then((changed) => changed?.emails, (error) => `${error.scimType}: ${error.message}`);
  console.log(op, result);
  if (!String(result).startsWith("noTarget")) throw new Error(`${op} adds the address now.`);
}
JS
node try.mjs
