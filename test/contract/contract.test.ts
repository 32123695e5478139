// Checks every mounted row against the contract: its status and shape, its side effects, and what it rejects.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { type Answer, world } from "../support/world.js";
import { responseValidator, contract, mounted, validationsOf, wrongFields, wrongLeaves } from "./contract.js";
import { examples } from "./examples.js";

const signedOut = "You are signed out or your session has expired. Sign in again to continue.";
const unknownToken = `stw_se_${"a".repeat(10)}-${"b".repeat(43)}`;

describe("the contract", () => {
  const w = world();

  it("has an example here for every row, and for nothing else", () => {
    expect(Object.keys(examples)).to.have.members(mounted.map(({ name }) => name));
  });

  it("serves every operation of the contract", async () => {
    const missing: string[] = [];
    for (const { method, path } of contract.values()) {
      const { status, body } = await w().nobody.request(
        method,
        path.replace(/\{\w+\}/g, () => newId()),
      );
      if (status === 405 || JSON.stringify(body).includes("Route not found.")) missing.push(`${method} ${path}`);
    }
    expect(missing).to.deep.equal([]);
    expect(contract.size).to.be.at.least(108);
  });

  for (const { name, status, dialect } of mounted) {
    describe(name, () => {
      const isOAuth2 = dialect?.failureName === "OAuth2Failure";
      const operation = contract.get(name);
      const [method, pattern] = name.split(" ") as [string, string];
      const path = pattern.replace(/\{\w+\}/g, () => newId());

      /** The body of a 401 in the dialect of the row. */
      const rejection = (detail: string) =>
        isOAuth2
          ? { error: "invalid_token", error_description: `${signedOut} ${detail}` }
          : { message: signedOut, detail };

      const send = (token: string | undefined, body?: unknown): Promise<Answer> =>
        (token === undefined ? w().nobody : w().as({ token })).request(method, path, body);

      it("has the status that the contract gives the operation", () => {
        expect(operation).to.include({ status });
      });

      it("succeeds with the contract's status and shape", async () => {
        const answer = await examples[name]!(w());
        expect(answer.status, JSON.stringify(answer.body)).to.equal(operation!.status);
        if (operation!.schema) {
          const accepts = responseValidator(name);
          expect(accepts(answer.body), JSON.stringify([accepts.errors, answer.body])).to.equal(true);
        } else expect(answer.body).to.equal("");
      });

      if (pattern.startsWith("/oauth2/clients/")) {
        it("takes no credential but the registration access token", async () => {
          for (const token of [undefined, unknownToken, w().owner.token]) {
            const refused = await send(token, operation?.request && "{}");
            expect(refused).to.include({ status: 401 });
            expect(refused.body.error).to.equal("invalid_token");
          }
        });
      } else if (operation?.open) {
        it("requires no credential and ignores any that is sent", async () => {
          const body = operation.request && "{}";
          const without = await send(undefined, body);
          const bad = await send(unknownToken, body);
          // This one is for applications, which authenticate by the body.
          if (pattern === "/oauth2/introspect") expect(without.body.error).to.equal("invalid_client");
          else expect(without.status).to.not.equal(401);
          expect(bad.status).to.equal(without.status);
        });
      } else {
        it("responds 401 without a credential and with an invalid one", async () => {
          const without = await send(undefined);
          expect(without).to.include({ status: 401 });
          expect(without.body).to.deep.equal(rejection("No credential was sent."));
          expect(without.headers.get("www-authenticate")).to.match(
            /^Bearer realm="steward", (scope="[a-z0-9_:* ]+", )?resource_metadata="http[^"]+\/\.well-known\/oauth-protected-resource"$/,
          );
          const malformed = await send("nonsense");
          expect(malformed).to.include({ status: 401 });
          expect(malformed.body).to.deep.equal(rejection("The token is malformed."));
          const unknown = await send(unknownToken);
          expect(unknown.body).to.deep.equal(rejection("The token is not valid."));
          expect(unknown.headers.get("www-authenticate")).to.match(
            /^Bearer realm="steward", .*error="invalid_token", error_description="The token is not valid\."$/,
          );
        });
      }

      if (pattern.startsWith("/api/v2/workspaceagents/me/")) {
        it("counts the credential of a user as none", async () => {
          expect(await send(w().owner.token, {})).to.include({ status: 401 });
        });
        return;
      }

      if (!operation?.request) return;
      const { request, open, showsBody } = operation;

      it("checks the credential, then responds 400 to a body that is not a JSON object", async () => {
        // A form without parameters is an empty body.
        const isForm = isOAuth2;
        for (const body of ['{"name": ', "[]", "null", "5", '"text"', "{} {}", ...(showsBody && !isForm ? [""] : [])]) {
          const answer = await send(w().owner.token, body);
          expect(answer, body).to.include({ status: 400 });
          if (answer.body.error)
            expect(answer.body.error_description, body).to.match(/^Request body must be valid JSON\. /);
          else expect(answer.body.message, body).to.equal("Request body must be valid JSON.");
          if (!answer.body.error) expect(answer.body.detail, body).to.be.a("string");
          if (!open) expect(await send(undefined, body), body).to.include({ status: 401 });
        }
      });

      it("responds 400 to wrong JSON types, with one validation per field", async () => {
        const fields = wrongFields(request);
        const leaves = wrongLeaves(request);
        for (const [body, faulty] of [
          [fields, Object.keys(fields)],
          [leaves.value, leaves.fields],
        ] as const) {
          const answer = await send(w().owner.token, body);
          expect(answer.status, JSON.stringify(answer.body)).to.equal(400);
          const reported = validationsOf(answer);
          expect(reported.map(({ field }) => field)).to.have.members(faulty);
          for (const { detail } of reported) expect(detail).to.match(/^Must be .*\.$/);
        }
      });
    });
  }
});
