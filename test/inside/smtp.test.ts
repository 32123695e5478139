// Looks inside: the mailer against servers that fail in every step.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { createMailer, isRefusedForGood, type Mail } from "../../src/infrastructure/smtp.js";
import { readConfig } from "../support/app.js";
import { Mailbox } from "../support/mailbox.js";

const certificate = (name: string) =>
  fileURLToPath(new URL(`../support/certificates/localhost.${name}`, import.meta.url));
const mail: Mail = { id: "1", to: "grüße@example.com", subject: "Grüße", text: "Guten Tag", html: "<p>Guten Tag</p>" };

describe("mail", () => {
  const [key, cert] = ["key", "crt"].map((name) => readFileSync(certificate(name)));
  const account = { STEWARD_NOTIFICATIONS_SMTP_USERNAME: "steward", STEWARD_NOTIFICATIONS_SMTP_PASSWORD: "s3cret" };
  let mailbox: Mailbox;
  /** The credentials that clients sent. */
  let told: unknown[];
  const open = async (options: object) => {
    told = [];
    mailbox = await Mailbox.open({
      key,
      cert,
      onAuth: ({ method, username, password }, _, done) => {
        told.push({ method, username, password });
        done(null, { user: username });
      },
      ...options,
    });
  };
  const send = (settings: NodeJS.ProcessEnv = {}, signal = new AbortController().signal) =>
    createMailer(readConfig({ ...mailbox.settings, ...settings }))!.send(mail, signal);
  const failure = (settings: NodeJS.ProcessEnv = {}): Promise<Error> =>
    send(settings).then(
      () => expect.fail("The message was sent."),
      (error: Error) => error,
    );
  afterEach(() => mailbox.close());

  it("is not sent without a configured server", async () => {
    await open({});
    expect(createMailer(readConfig({}))).to.equal(undefined);
  });

  it("is given up when the caller does not wait any longer", async () => {
    await open({ disabledCommands: ["STARTTLS"] });
    mailbox.hangs = () => true;
    const aborting = new AbortController();
    const failed = send({}, aborting.signal).catch((error: Error) => error.message);
    await mailbox.letter(mail.to);
    aborting.abort(new Error("too late"));
    expect(await failed).to.equal("too late");
  });

  it("is sent unencrypted if TLS is not required, but never with a password", async () => {
    await open({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true });
    await send();
    expect(mailbox.letters[0]!.to).to.have.length(1);
    expect(mailbox.letters[0]!.text).to.match(/multipart\/alternative/);
    await failure(account);
    await failure({ STEWARD_NOTIFICATIONS_SMTP_REQUIRE_TLS: "true" });
    expect(told).to.deep.equal([]);
    expect(mailbox.letters).to.have.length(1);
  });

  for (const method of ["PLAIN", "LOGIN"]) {
    it(`upgrades to TLS where it is offered, and authenticates with ${method}`, async () => {
      await open({ disabledCommands: [], authOptional: false, authMethods: [method] });
      await failure(account);
      expect(told, "no credentials to an untrusted server").to.deep.equal([]);
      await send({ ...account, STEWARD_NOTIFICATIONS_SMTP_CA_FILE: certificate("crt") });
      expect(told).to.deep.equal([{ method, username: "steward", password: "s3cret" }]);
      expect(mailbox.letters).to.have.length(1);
    });
  }

  it("uses TLS from the start where that is configured", async () => {
    await open({ secure: true });
    await send({
      STEWARD_NOTIFICATIONS_SMTP_FORCE_TLS: "true",
      STEWARD_NOTIFICATIONS_SMTP_CA_FILE: certificate("crt"),
    });
    expect(mailbox.letters).to.have.length(1);
  });

  it("is dropped only when the server rejects it permanently", async () => {
    await open({});
    mailbox.refusal = { responseCode: 550, message: "Never." };
    expect(isRefusedForGood(await failure({ STEWARD_NOTIFICATIONS_SMTP_CA_FILE: certificate("crt") }))).to.equal(true);
    mailbox.refusal = { responseCode: 451, message: "Not now." };
    expect(isRefusedForGood(await failure({ STEWARD_NOTIFICATIONS_SMTP_CA_FILE: certificate("crt") }))).to.equal(false);
    expect(isRefusedForGood(await failure({ STEWARD_NOTIFICATIONS_SMTP_PORT: "1" }))).to.equal(false);
  });
});
