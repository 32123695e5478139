// The pages on which people sign in with a code, and look after their second factor. They have no scripts.
import { expect } from "chai";
import { addAuthenticator, codeOf } from "./support/authenticators.js";
import { type Answer, type Person, userPassword, world } from "./support/world.js";

const urlencoded = { "Content-Type": "application/x-www-form-urlencoded" };
const page = "/account/second-factor";

describe("pages of second factors", () => {
  const the = world({ STEWARD_RATE_LIMIT_CREDENTIAL: "0", STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0" });

  const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
  const cookiesOf = ({ headers }: Answer) =>
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(";")[0]!)
      .join("; ");
  const hidden = (name: string, { body }: Answer): string | undefined =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(body)?.[1]?.replaceAll("&amp;", "&");
  const words = ({ body }: Answer) =>
    String(body)
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ");

  /** A browser on the sign-in page, with the cookie of it. */
  async function visitor() {
    const first = await the().nobody.get("/login?return_to=/docs");
    const cookie = cookiesOf(first);
    const send = (fields: Record<string, string>, from: Answer) =>
      the().nobody.post(
        "/login",
        form({ csrf_token: hidden("csrf_token", from)!, return_to: hidden("return_to", from)!, ...fields }),
        { ...urlencoded, cookie },
      );
    return { first, send };
  }

  async function holder(name = "ada") {
    const person = await the().user(name);
    return { ...person, ...(await addAuthenticator(the().as(person))) };
  }

  describe("of sign-in", () => {
    it("take the code after the password, which no page repeats", async () => {
      const ada = await holder();
      const { first, send } = await visitor();
      const asked = await send({ email: ada.email, password: userPassword }, first);
      expect(asked.status).to.equal(200);
      expect(words(asked)).to.contain("Enter your code");
      expect(asked.body).to.not.contain(userPassword).and.not.contain(ada.email);
      expect(cookiesOf(asked)).to.not.contain("service_session_token");
      const kept = hidden("kept", asked)!;

      const wrong = await send({ kept, oneTimeCode: "000000" }, asked);
      expect(wrong.status).to.equal(401);
      expect(words(wrong)).to.contain("Is wrong, or was used before.");
      const code = codeOf(ada.secret, 1);
      const done = await send({ kept: hidden("kept", wrong)!, oneTimeCode: code }, wrong);
      expect([done.status, done.headers.get("location")]).to.deep.equal([303, "/docs"]);
      expect(cookiesOf(done)).to.contain("service_session_token=stw_se_");
      const again = await send({ kept, oneTimeCode: code }, asked);
      expect(again.status, "the code was used").to.equal(401);
    });

    it("keep the password only for the browser that sent it, and only if the text is unchanged", async () => {
      const ada = await holder();
      const mine = await visitor();
      const theirs = await visitor();
      const asked = await mine.send({ email: ada.email, password: userPassword }, mine.first);
      const kept = hidden("kept", asked)!;
      const [nonce, ciphertext, keyId] = kept.split(".");
      const texts = [
        "",
        "x",
        `${ciphertext}.${nonce}.${keyId}`,
        `${nonce}.${ciphertext}.other`,
        `${nonce}..${keyId}`,
        `${nonce}.${ciphertext!.slice(4)}.${keyId}`,
        `${nonce}.AAAA.${keyId}`,
      ];
      const code = codeOf(ada.secret, 1);
      for (const text of texts) {
        const answer = await mine.send({ kept: text, oneTimeCode: code }, asked);
        expect([answer.status, words(answer).includes("That took too long.")], text).to.deep.equal([400, true]);
      }
      const elsewhere = await theirs.send({ kept, oneTimeCode: code }, theirs.first);
      expect(elsewhere.status).to.equal(400);
      expect((await mine.send({ kept, oneTimeCode: code }, asked)).status).to.equal(303);
    });

    it("stay the same for accounts without a factor, and for wrong passwords", async () => {
      const ada = await holder();
      const bob = await the().user("bob");
      const { first, send } = await visitor();
      const wrong = await send({ email: ada.email, password: "wrong" }, first);
      expect(words(wrong)).to.contain("Incorrect email or password.").and.not.contain("code");
      expect((await send({ email: bob.email, password: userPassword }, first)).status).to.equal(303);
    });
  });

  describe("of the account", () => {
    const cookieOf = ({ token }: Pick<Person, "token">) => ({
      cookie: `service_session_token=${token}`,
      "sec-fetch-site": "same-origin",
      "sec-fetch-mode": "navigate",
    });
    const open = (person: Person, query = "") => the().nobody.get(`${page}${query}`, cookieOf(person));
    const send = (person: Person, from: Answer, fields: Record<string, string> = {}) =>
      the().nobody.post(
        page,
        form({ csrf_token: hidden("csrf_token", from)!, action: hidden("action", from)!, ...fields }),
        { ...urlencoded, ...cookieOf(person) },
      );
    const codesIn = ({ body }: Answer) =>
      [...String(body).matchAll(/<li>([0-9A-Z-]{19})<\/li>/g)].map(([, code]) => code!);

    it("add an authenticator by a QR code and its first code, and show the recovery codes once", async () => {
      const ada = await the().user("ada");
      const first = await open(ada);
      expect(words(first)).to.contain("Add an authenticator");
      const refused = await send(ada, first, { password: "wrong" });
      expect([refused.status, words(refused).includes("Is not your password.")]).to.deep.equal([400, true]);

      const begun = await send(ada, first, { password: userPassword });
      expect(begun.body).to.contain('<img class="qr" src="data:image/svg+xml;base64,');
      const uri = hidden("uri", begun)!;
      const secret = new URL(uri).searchParams.get("secret")!;
      expect(words(begun).replaceAll(" ", "")).to.contain(secret);
      const wrong = await send(ada, begun, { uri, oneTimeCode: "000000" });
      expect(wrong.status).to.equal(400);
      expect(hidden("uri", wrong), "it can be scanned still").to.equal(uri);
      const forged = await send(ada, begun, { uri: `otpauth://totp/"><script>`, oneTimeCode: "000000" });
      expect(forged.body).to.not.contain("<script>");

      const done = await send(ada, begun, { uri, oneTimeCode: codeOf(secret) });
      expect(codesIn(done)).to.have.length(10);
      const after = await open(ada);
      expect(words(after)).to.contain("Recovery codes left: 10.");
      expect(codesIn(after)).to.deep.equal([]);
    });

    it("make new recovery codes, replace the authenticator, and remove it, each with a code", async () => {
      const ada = await holder();
      const codes = await send(ada, await open(ada, "?change=codes"), { oneTimeCode: ada.recoveryCodes[0]! });
      const [first, second, third] = codesIn(codes);
      expect(new Set([...codesIn(codes), ...ada.recoveryCodes]).size).to.equal(20);

      const replacing = await open(ada, "?change=replace");
      expect((await send(ada, replacing, { password: userPassword, oneTimeCode: "000000" })).status).to.equal(400);
      const begun = await send(ada, replacing, { password: userPassword, oneTimeCode: first! });
      const uri = hidden("uri", begun)!;
      const secret = new URL(uri).searchParams.get("secret")!;
      expect(secret).to.not.equal(ada.secret);
      expect((await send(ada, begun, { uri, oneTimeCode: second! })).status, "not a code of it").to.equal(400);
      const [recovery] = codesIn(await send(ada, begun, { uri, oneTimeCode: codeOf(secret) }));

      const removing = await open(ada, "?change=remove");
      expect((await send(ada, removing, { oneTimeCode: third! })).status, "a former code").to.equal(400);
      expect(words(await send(ada, removing, { oneTimeCode: recovery! }))).to.contain("Your authenticator is removed.");
      expect(words(await open(ada, "?change=remove"))).to.contain("Add an authenticator");
    });

    it("have nothing for users without a password, and reject unknown forms", async () => {
      const ada = await the().user("ada");
      const bob = await the().user("bob", undefined, "OIDC");
      expect(words(await open(bob))).to.contain("You sign in through a provider");
      const first = await open(ada);
      for (const action of ["", "x", "constructor"])
        expect((await send(ada, first, { action })).status, action).to.equal(400);
      expect((await open(ada, "?change=constructor")).status).to.equal(200);
    });
  });
});
