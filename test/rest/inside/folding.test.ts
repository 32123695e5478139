// Email addresses and usernames compare alike, whatever the locale of the database.
// Looks inside: sign-ins through a provider are simulated; a real one would not send such addresses.
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { Context } from "../../../src/domain/kernel/context.js";
import { anonymous } from "../../../src/domain/kernel/actor.js";
import { signInThroughProvider } from "../../../src/domain/sign-in/provider-sign-in.js";
import { newId } from "../../support/ids.js";
import { createUser, fields, goodPassword } from "../../support/accounts.js";
import { cloneDatabase, createDatabase } from "../../support/cluster.js";
import { taskDocument } from "../../support/tasks.js";
import { makeTemplate } from "../../support/templates.js";
import { startWorldOn, type World } from "../../support/world.js";

/** Letters that Unicode or some locales fold to ASCII letters. */
const kelvin = "\u212a";
const dotted = "\u0130";

/** Letters whose lower case has another length, depends on the language, or is that of another letter, too. */
const specialLetters = Array.from({ length: 0x1ffff }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((letter) => {
    const lower = letter.toLowerCase();
    const isOwn = lower === letter || lower.toUpperCase() === letter;
    const isCommon = ["tr", "az", "lt"].every((language) => letter.toLocaleLowerCase(language) === lower);
    return lower.length !== letter.length || !isOwn || !isCommon;
  });

const icu = (locale: string) => () =>
  createDatabase(`template0 locale_provider = icu icu_locale = '${locale}' lc_collate = 'C' lc_ctype = 'C'`);

for (const [locale, create] of [
  ["the built-in cluster", cloneDatabase],
  ["English by ICU", icu("en-US")],
  ["Turkish by ICU", icu("tr-TR")],
] as const) {
  describe(`email addresses and usernames in the locale of ${locale}`, () => {
    let w: World;
    before(async () => {
      w = await startWorldOn(await create(), {
        STEWARD_OIDC_ISSUER_URL: "https://id.example.com",
        STEWARD_OIDC_CLIENT_ID: "steward",
        STEWARD_OIDC_CLIENT_SECRET: "a secret",
        STEWARD_OIDC_EMAIL_DOMAINS: "kiosk.example.com",
        STEWARD_LOGIN_FAILURES_PER_HOUR: "3",
      });
    });
    after(() => w.close());

    const sql = async (text: string, ...values: unknown[]) =>
      (await w.app.services.database.pool.query(text, values)).rows;
    const make = (email: string, username: string, loginType = "PASSWORD") =>
      w.as(w.owner).graphql(createUser, {
        input: { email, username, loginType, ...(loginType === "PASSWORD" && { password: goodPassword }) },
      });
    const signIn = (email: string, password = goodPassword) =>
      w.nobody.post("/api/v2/users/login", { email, password }).then(({ status }) => status);
    const comeFromProvider = (email: string) => {
      const ctx = new Context(w.app.services, anonymous, { id: newId() }, () => new AbortController());
      const provider = w.app.services.identityProviders.find("oidc")!;
      const issuer = "https://id.example.com";
      const identity = { provider: "oidc", kind: "oidc", issuer, subject: email, email, claims: {} } as const;
      const expiresAt = new Date(Date.now() + 60_000).toISOString();
      return ctx.transactional(() =>
        signInThroughProvider(ctx, { provider, identity, stateHash: randomBytes(32), expiresAt }),
      );
    };

    it("are the same in any case of A to Z, and distinct from look-alikes", async () => {
      await make("Kiki.I@Example.com", "KIKI");
      for (const email of ["kiki.i@example.com", "KIKI.I@EXAMPLE.COM"])
        expect(await signIn(email), email).to.equal(201);
      for (const email of [`${kelvin}iki.i@example.com`, `kiki.${dotted}@example.com`, "kiki.\u0131@example.com"]) {
        expect(await signIn(email), email).to.equal(401);
        await w.nobody.post("/api/v2/users/otp/request", { email });
        expect(await sql("select from one_time_passcodes")).to.deep.equal([]);
        await make(email, `other-${email.codePointAt(0)}-${email.codePointAt(5)}`);
        expect(await signIn(email), email).to.equal(201);
      }
      const taken = { email: "KIKI.i@example.COM", username: "kIkI", password: goodPassword };
      const refused = await w.as(w.owner).failure(createUser, { input: taken });
      expect(fields(refused)).to.deep.equal(["input.email", "input.username"]);
    });

    it("that look alike adopt no account at a provider and match no domain", async () => {
      await make("kim@example.com", "kim", "OIDC");
      for (const stranger of [`${kelvin}im@example.com`, `kim@\u212aiosk.example.com`]) {
        const refusal = await comeFromProvider(stranger).catch((error: Error) => error);
        expect((refusal as Error).message, stranger).to.match(/^There is no account for you here/);
      }
      const [{ id }] = await sql("select id from users where username = 'kim'");
      expect(await comeFromProvider("KIM@example.com")).to.include({ userId: id });
      expect((await comeFromProvider("ivi@KIOSK.example.com")).userId).to.be.a("string");
    });

    it("find users by name, ignoring the case of A to Z only", async () => {
      await make("viki@example.com", "Viki");
      const client = w.as(w.owner);
      const byName = `query($username: String!) { user(user: $username) { username } }`;
      expect(await client.graphql(byName, { username: "VIKI" })).to.deep.equal({ user: { username: "Viki" } });
      for (const username of [`Vi${kelvin}i`, `V${dotted}ki`])
        expect((await client.failure(byName, { username })).code).to.equal("NOT_FOUND");
      const group = await w.group("seekers", { members: await sql("select id from users where username = 'Viki'") });
      const found = async (search: string) => {
        const { users, organizationMembers } = await client.graphql(
          `query($search: String!) {
             users(filter: { search: $search }) { totalCount }
             organizationMembers(organization: "default", filter: { search: $search }) { totalCount } }`,
          { search },
        );
        const inGroup = await client.get(`/api/v2/groups/${group.id}/members?q=${encodeURIComponent(search)}`);
        return [users.totalCount, organizationMembers.totalCount, inGroup.body.count];
      };
      expect(await found("VIKI@")).to.deep.equal([1, 1, 1]);
      expect(await found(`vi${kelvin}i@`)).to.deep.equal([0, 0, 0]);
    });

    it("and all other names are found by each letter that they have", async () => {
      const client = w.as(w.owner);
      const displayName = specialLetters.join("");
      const document = taskDocument("http://127.0.0.1:1", { provisioner: "echo" });
      const { version } = await makeTemplate(w, { displayName, document });
      const task = await client.post("/api/v2/tasks/me", { template_version_id: version, display_name: displayName });
      expect(task.status, JSON.stringify(task.body)).to.equal(201);
      const group = await client.post("/api/v2/organizations/default/groups", {
        name: "letters",
        display_name: displayName,
      });
      expect(group).to.include({ status: 201 });
      const user = await client.graphql(createUser, {
        input: { email: "letters@example.com", username: "letters", name: displayName, loginType: "NONE" },
      });
      await client.patch(`/api/v2/groups/${group.body.id}`, { add_users: [user.createUser.user.id] });
      const found = async (search: string): Promise<string[]> => {
        const lists = await client.graphql(
          `query($search: String!) {
             templates(filter: { search: $search }) { totalCount } groups(filter: { search: $search }) { totalCount }
             users(filter: { search: $search }) { totalCount } tasks(q: $search) { totalCount } }`,
          { search },
        );
        const members = await client.get(
          `/api/v2/groups/${group.body.id}/members?q=name:${encodeURIComponent(search)}`,
        );
        const counts: Array<[string, number]> = [
          ...Object.entries(lists as Record<string, { totalCount: number }>).map(
            ([name, { totalCount }]): [string, number] => [name, totalCount],
          ),
          ["members", members.body.count],
        ];
        return counts.filter(([, count]) => count > 0).map(([name]) => name);
      };
      for (const letter of specialLetters)
        expect(await found(letter), letter).to.deep.equal(["templates", "groups", "users", "tasks", "members"]);
      expect(await found("\u0416")).to.deep.equal([]);
    });

    it("that look alike lock no other user out", async () => {
      await make("locke@example.com", "locke");
      for (const _ of [1, 2, 3, 4]) await signIn(`loc${kelvin}e@example.com`, "wrong");
      expect(await signIn(`loc${kelvin}e@example.com`, "wrong")).to.equal(429);
      expect(await signIn("locke@example.com")).to.equal(201);
    });
  });
}
