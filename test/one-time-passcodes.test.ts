// Reaches for tables: passcodes last for minutes, are stored nowhere as text, and are deleted.
import { expect } from "chai";
import { suspend } from "./support/accounts.js";
import { audited } from "./support/audit.js";
import { logged, startServer } from "./support/app.js";
import { messages } from "./support/inbox.js";
import { codeIn, Mailbox } from "./support/mailbox.js";
import { repeats } from "./support/repeats.js";
import { scimClient } from "./support/scim.js";
import { insert } from "./support/stage.js";
import { countRows, letListsPass, letPass, lockRows, setColumns, storedText } from "./support/tables.js";
import { eventually } from "./support/watchers.js";
import { type Answer, Client, type Person, startWorld, userPassword, type World } from "./support/world.js";

const noLimits = {
  STEWARD_RATE_LIMIT_CREDENTIAL: "0",
  STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0",
  STEWARD_NOTIFICATIONS_RETRY_BASE: "200ms",
  STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "200ms",
};
const requestPath = "/api/v2/users/otp/request";
const changePath = "/api/v2/users/otp/change-password";
const passcodes = "one_time_passcodes";
const good = "plum-Harbor-kite-77";
const wrongCode = { message: "Incorrect email or one-time passcode." };

/** The parts of a response that a client sees, except for what differs with every request. */
const seen = ({ status, headers, body }: Answer) => {
  const lasting = [...headers].filter(([name]) => !/^(date|x-request-id|ratelimit.*)$/.test(name));
  return { status, headers: Object.fromEntries(lasting), body };
};

describe("one-time passcodes", () => {
  let w: World;
  let mailbox: Mailbox;

  before(async () => {
    mailbox = await Mailbox.open();
    w = await startWorld({ ...noLimits, ...mailbox.settings });
  });
  after(async () => {
    await w.close();
    await mailbox.close();
  });

  const asOwner = (verb: string, input: string) =>
    w.as(w.owner).graphql(`mutation { ${verb}(input: { ${input} }) { user { id } } }`);
  const request = (email: string) => w.nobody.post(requestPath, { email });
  const change = (email: string, one_time_passcode: string, password = good) =>
    w.nobody.post(changePath, { email, one_time_passcode, password });
  const codeFor = async ({ email }: Person) => {
    expect(await request(email)).to.include({ status: 204 });
    return codeIn(await mailbox.letter(email));
  };
  const attemptsOf = async ({ id }: Person) => (await messages(w, { user: id })).flatMap(({ attempts }) => attempts);
  /** Resolves when a message to the user could not be delivered at least once. */
  const attempted = (person: Person) =>
    eventually(async () => (await attemptsOf(person)).length > 0, "an attempt fails");
  /** Moves the times of a user's passcode into the past. */
  const wait = async ({ id }: Person, time: string) => {
    await letPass(w, passcodes, { user_id: id }, time, ["expires_at"]);
    await letListsPass(w, passcodes, { user_id: id }, time, ["requested_at"]);
  };
  const passcodesTo = (email: string) => mailbox.to(email).filter(({ text }) => /^Subject: .*passcode/m.test(text));
  /** Resolves when background work of earlier requests is done. */
  const settled = async () => {
    const marker = await w.user("marker");
    await codeFor(marker);
  };

  it("are emailed to the account holder, and work once", async () => {
    const ada = await w.user("ada");
    const code = await codeFor({ ...ada, email: ada.email });
    const letter = await mailbox.letter(ada.email);
    expect(letter.from).to.equal("steward@example.com");
    expect(letter.text).to.match(/^Auto-Submitted: auto-generated\r?$/m);
    expect(letter.text).to.match(/^Message-ID: <[0-9a-f-]{36}@example\.com>\r?$/m);
    expect(letter.text)
      .to.match(/multipart\/alternative/)
      .and.contain("within 20 minutes");

    expect((await change(ada.email.toUpperCase(), ` ${code.toLowerCase()} `)).status).to.equal(204);
    expect(await change(ada.email, code, `${good}8`)).to.deep.include({ status: 400, body: wrongCode });
    expect((await w.as(ada).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    const token = await w.login(ada.email, good);
    expect((await w.as({ token }).get("/api/v2/notifications/inbox")).body.notifications).to.deep.equal([]);
  });

  it("are sent even if their user turned them off, and their content is erased when they are sent", async () => {
    const ada = await w.user("ada");
    await insert(w, {
      notification_preferences: [
        {
          user_id: ada.id,
          template_id: "62f86a30-2330-4b61-a26d-311ff3b608cf",
          method: "smtp",
          is_disabled: true,
          updated_at: "now",
        },
      ],
    });
    await codeFor(ada);
    await eventually(
      async () => (await messages(w, { user: ada.id })).every(({ state }) => state === "SENT"),
      "the result is stored",
    );
    expect((await messages(w, { user: ada.id })).map(({ method }) => method)).to.deep.equal(["SMTP"]);
    const erased = { user_id: ada.id, payload: null, secret_ciphertext: null };
    expect(await countRows(w, "notification_messages", erased)).to.equal(1);
  });

  it("stay valid when the new password is rejected as weak or unchanged", async () => {
    const ada = await w.user("ada");
    const token = await w.login(ada.email, userPassword);
    const code = await codeFor(ada);
    for (const password of ["password", ada.email, userPassword]) {
      const { status, body } = await change(ada.email, code, password);
      expect([status, body.validations.map(({ field }: { field: string }) => field)]).to.deep.equal([
        400,
        ["password"],
      ]);
    }
    for (let time = 0; time < 6; time++) expect((await change(ada.email, code, userPassword)).status).to.equal(400);
    expect((await change(ada.email, code)).status).to.equal(204);
    expect(await change(ada.email, code)).to.deep.include({ status: 400, body: wrongCode });
    for (const old of [ada.token, token]) {
      expect((await w.as({ token: old }).post("/api/v2/authcheck", { checks: {} })).status).to.equal(401);
    }
  });

  it("are checked before the new password is rated against the account's own data", async () => {
    const [ada] = await w.users("evangeline-hopperthwaite");
    await asOwner("updateUser", `user: "${ada!.id}", name: "Philomena Quackenbush"`);
    const code = await codeFor(ada!);
    const password = "Philomena Quackenbush";
    const known = await change(ada!.email, "2345678923", password);
    const unknown = await change("x@example.com", code, password);
    expect(seen(known)).to.deep.equal(seen(unknown));
    expect(known.body).to.deep.equal(wrongCode);
    expect((await change(ada!.email, code, password)).body.validations[0].field).to.equal("password");
  });

  it("allow five wrong attempts, even concurrent ones, before the right code fails too", async () => {
    const ada = await w.user("ada");
    const code = await codeFor(ada);
    const tries = await Promise.all(
      Array.from({ length: 50 }, (_, n) => change(ada.email, `WRNG${n}`.padEnd(10, "Z"))),
    );
    for (const answer of tries) expect(answer).to.deep.include({ status: 400, body: wrongCode });
    expect(await change(ada.email, code)).to.deep.include({ status: 400, body: wrongCode });
    await w.login(ada.email, userPassword);
  });

  it("have their own attempts, whatever was used up on the previous code", async () => {
    const ada = await w.user("ada");
    await codeFor(ada);
    for (let n = 0; n < 5; n++) expect(await change(ada.email, "2345678923")).to.include({ status: 400 });
    await wait(ada, "61 seconds");
    await request(ada.email);
    expect(await change(ada.email, codeIn(await mailbox.letter(ada.email, 2)))).to.include({ status: 204 });
  });

  it("work for exactly one of many concurrent uses", async () => {
    const ada = await w.user("ada");
    const code = await codeFor(ada);
    /** A use that waited too long for its turn to hash was none, and is repeated. */
    const use = async (n: number): Promise<Answer> => {
      const answer = await change(ada.email, code, `${good}-${n}`);
      return answer.status === 503 ? use(n) : answer;
    };
    const uses = await Promise.all(Array.from({ length: repeats(12, 200) }, (_, n) => use(n)));
    const winners = uses.flatMap(({ status }, n) => (status === 204 ? [n] : []));
    expect(winners).to.have.length(1);
    for (const answer of uses)
      if (answer.status !== 204) expect(answer).to.deep.include({ status: 400, body: wrongCode });
    await w.login(ada.email, `${good}-${winners[0]}`);
  });

  it("fail alike whether unknown, missing, wrong, expired, or for an account that is suspended or has no password", async () => {
    const [ada, bob, cat, dan, eve] = await w.users("ada", "bob", "cat", "dan", "eve");
    const codes = await Promise.all([ada!, cat!, dan!, eve!].map(codeFor));
    await wait(cat!, "21 minutes");
    for (const [{ id }, values] of [
      [dan!, { status: "suspended" }],
      [eve!, { login_type: "oidc" }],
    ] as const)
      await setColumns(w, "users", { id }, values);
    const answers = await Promise.all([
      change("nobody@example.com", codes[0]!),
      change(bob!.email, codes[0]!),
      change(ada!.email, "2345678923"),
      change(cat!.email, codes[1]!),
      change(dan!.email, codes[2]!),
      change(eve!.email, codes[3]!),
    ]);
    for (const answer of answers) expect(seen(answer)).to.deep.equal(seen(answers[0]));
    expect(answers[0]).to.deep.include({ status: 400, body: wrongCode });
  });

  it("are sent at most once a minute and five times an hour, and only the last one works", async () => {
    const ada = await w.user("ada");
    const first = await codeFor(ada);
    await request(ada.email);
    await settled();
    expect(mailbox.to(ada.email)).to.have.length(1);

    for (let made = 2; made <= 5; made++) {
      await wait(ada, "61 seconds");
      await request(ada.email);
      await mailbox.letter(ada.email, made);
    }
    expect(await change(ada.email, first)).to.deep.include({ status: 400, body: wrongCode });
    await wait(ada, "61 seconds");
    await request(ada.email);
    await settled();
    expect(mailbox.to(ada.email)).to.have.length(5);

    await wait(ada, "56 minutes");
    await request(ada.email);
    expect((await change(ada.email, codeIn(await mailbox.letter(ada.email, 6)))).status).to.equal(204);
  });

  it("are requested with the same response for any address, but sent only to active accounts with a password", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    const cat = await w.user("cat", undefined, "OIDC");
    await suspend(w, bob!);
    const emails = [ada!.email, bob!.email, cat.email, "nobody@example.com", "system@steward.invalid"];
    const answers = await Promise.all(emails.map(request));
    for (const answer of answers) expect(seen(answer)).to.deep.equal(seen(answers[0]!));
    expect(answers[0]).to.include({ status: 204, body: "" });
    await mailbox.letter(ada!.email);
    await settled();
    for (const email of emails.slice(1)) expect(passcodesTo(email), email).to.deep.equal([]);
    for (const [person, count] of [
      [ada!, 1],
      [bob!, 0],
      [cat, 0],
    ] as const)
      expect(await audited(w, { resourceType: "one_time_passcode", resourceId: person.id })).to.have.length(count);
  });

  it("have all faults of a request reported together", async () => {
    const fields = ({ status, body }: Answer) => [
      status,
      body.validations?.map(({ field }: { field: string }) => field),
    ];
    expect(fields(await w.nobody.post(requestPath, {}))).to.deep.equal([400, ["email"]]);
    expect(fields(await w.nobody.post(requestPath, { email: "no address" }))).to.deep.equal([400, ["email"]]);
    const all = ["email", "one_time_passcode", "password"];
    expect(fields(await w.nobody.post(changePath, {}))).to.deep.equal([400, all]);
    expect(fields(await change("no address", "", "password"))).to.deep.equal([400, all]);
    const { errors } = await w.nobody.failure(
      "mutation($input: ChangePasswordWithPasscodeInput!) { changePasswordWithPasscode(input: $input) { changed } }",
      { input: {} },
    );
    expect(errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.email",
      "input.oneTimePasscode",
      "input.password",
    ]);
  });

  it("are the same in GraphQL", async () => {
    const ada = await w.user("ada");
    const asked = await w.nobody.graphql(
      `mutation($email: String!) { requestOneTimePasscode(input: { email: $email }) { accepted } }`,
      { email: ada.email },
    );
    expect(asked).to.deep.equal({ requestOneTimePasscode: { accepted: true } });
    const changed = await w.nobody.graphql(
      `mutation($input: ChangePasswordWithPasscodeInput!) { changePasswordWithPasscode(input: $input) { changed } }`,
      { input: { email: ada.email, oneTimePasscode: codeIn(await mailbox.letter(ada.email)), password: good } },
    );
    expect(changed).to.deep.equal({ changePasswordWithPasscode: { changed: true } });
    await w.login(ada.email, good);
  });

  it("are retried while the mail server fails temporarily, and dropped when it rejects them permanently", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    mailbox.refusal = { responseCode: 451, message: "Not now." };
    try {
      expect((await request(ada!.email)).status).to.equal(204);
      await attempted(ada!);
      mailbox.refusal = undefined;
      expect((await change(ada!.email, codeIn(await mailbox.letter(ada!.email)))).status).to.equal(204);

      mailbox.refusal = { responseCode: 550, message: "Never." };
      await request(bob!.email);
      const failed = () => messages(w, { user: bob!.id, state: "PERMANENT_FAILURE" });
      await eventually(async () => (await failed()).length === 1, "the message is dropped");
      expect(await attemptsOf(bob!)).to.have.length(1);
    } finally {
      mailbox.refusal = undefined;
    }
  });

  it("are not stored in plaintext in the database, the audit log, or the log", async () => {
    const ada = await w.user("ada");
    const stored = () =>
      storedText(w, passcodes, "audit_events", "notification_messages", "notification_attempts", "inbox_notifications");
    // The message waits in the queue.
    mailbox.refusal = { responseCode: 451, message: "Not now." };
    expect((await request(ada.email)).status).to.equal(204);
    await attempted(ada);
    const waiting = await stored();
    mailbox.refusal = undefined;
    const code = codeIn(await mailbox.letter(ada.email));
    await change(ada.email, code, "password");
    await change(ada.email, code);
    for (const text of [waiting, await stored()]) {
      expect(text).to.contain(ada.id).and.not.contain(good);
      for (const form of [code, Buffer.from(code).toString("hex")]) expect(text).to.not.contain(form);
    }
    expect(JSON.stringify(logged)).to.not.contain(code);
  });

  const newEmail = ({ username }: Person) => `${username}@new.example.com`;
  /** Everything that changes the address, the password, the way to sign in, or the status of an account. */
  const accountChanges: Record<string, (person: Person) => Promise<unknown>> = {
    "an administrator changes the email": (ada) =>
      asOwner("updateUser", `user: "${ada.id}", email: "${newEmail(ada)}"`),
    "an administrator changes the email and changes it back": async (ada) => {
      await asOwner("updateUser", `user: "${ada.id}", email: "${newEmail(ada)}"`);
      await asOwner("updateUser", `user: "${ada.id}", email: "${ada.email}"`);
    },
    "an identity provider changes the email": async (ada) => {
      const scim = await scimClient(w);
      const emails = [{ value: newEmail(ada), type: "work", primary: true }];
      const answer = await scim.change(`/Users/${ada.id}`, { op: "replace", path: "emails", value: emails });
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    },
    "the user changes the password": (ada) =>
      w.as(ada).graphql(`mutation($input: ChangePasswordInput!) { changePassword(input: $input) { user { id } } }`, {
        input: { currentPassword: userPassword, newPassword: `${good}-own` },
      }),
    "an administrator resets the password": (ada) =>
      asOwner("resetUserPassword", `user: "${ada.id}", password: "${good}-reset"`),
    "the account is suspended for a while": async (ada) => {
      await asOwner("suspendUser", `user: "${ada.id}"`);
      await asOwner("activateUser", `user: "${ada.id}"`);
    },
  };
  for (const [what, changeAccount] of Object.entries(accountChanges)) {
    it(`are void as soon as ${what}`, async () => {
      const ada = await w.user("ada");
      const code = await codeFor(ada);
      await changeAccount(ada);
      for (const email of [ada.email, newEmail(ada)])
        expect(await change(email, code), email).to.deep.include({ status: 400, body: wrongCode });
      const { user } = await w.as(w.owner).graphql(`{ user(user: "${ada.id}") { email } }`);
      await wait(ada, "61 seconds");
      const made = passcodesTo(user.email).length;
      await request(user.email);
      await eventually(() => passcodesTo(user.email).length > made, "the next code arrives");
      const next = codeIn(passcodesTo(user.email).at(-1)!);
      expect(await change(user.email, next), "a code that is requested afterwards").to.include({ status: 204 });
    });
  }

  it("still count against the limit of an hour when they became void", async () => {
    const ada = await w.user("ada");
    for (let made = 1; made <= 5; made++) {
      if (made > 1) await wait(ada, "61 seconds");
      await request(ada.email);
      await eventually(() => passcodesTo(ada.email).length === made, `code ${made} arrives`);
      await asOwner("suspendUser", `user: "${ada.id}"`);
      await asOwner("activateUser", `user: "${ada.id}"`);
    }
    await wait(ada, "61 seconds");
    await request(ada.email);
    await settled();
    expect(passcodesTo(ada.email)).to.have.length(5);
  });

  it("are not made for an address that the account no longer has when the request is processed", async () => {
    const ada = await w.user("ada");
    await lockRows(w, "users", { id: ada.id }, async ({ set, awaited, commit }) => {
      await set({ email: newEmail(ada) });
      expect(await request(ada.email)).to.include({ status: 204 });
      await awaited();
      await commit();
    });
    await settled();
    expect(mailbox.to(ada.email)).to.deep.equal([]);
    expect(mailbox.to(newEmail(ada))).to.deep.equal([]);
  });

  it("are deleted with their user", async () => {
    const ada = await w.user("ada");
    await codeFor(ada);
    await w.as(w.owner).graphql(`mutation { deleteUser(input: { user: "${ada.id}" }) { user { id } } }`);
    expect(await countRows(w, passcodes, { user_id: ada.id })).to.equal(0);
  });

  it("are rejected where passwords are disabled, and logged as undeliverable where no mail server is configured", async () => {
    const [without, mute] = await Promise.all([
      startServer(w.database.url, { ...noLimits, STEWARD_PASSWORD_AUTH: "false" }),
      startServer(w.database.url, noLimits),
    ]);
    try {
      const passcode = { email: "nobody@example.com", one_time_passcode: "x", password: "x" };
      for (const path of [requestPath, changePath]) {
        const { status, body } = await new Client(without.url).post(path, passcode);
        expect([status, body.message]).to.deep.equal([403, "Password authentication is disabled."]);
        // Missing values are reported before permission.
        expect(await new Client(without.url).post(path, {})).to.include({ status: 400 });
      }
      const ada = await w.user("ada");
      expect((await new Client(mute.url).post(requestPath, { email: ada.email })).status).to.equal(204);
      await eventually(() => logged.some(({ msg }) => /no mail server/.test(String(msg))), "the warning is logged");
    } finally {
      await Promise.all([without.close(), mute.close()]);
    }
  });
});
