// Reaches for tables: equal values have different ciphertexts, and those of deleted users are gone.
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { newId } from "./support/ids.js";
import { insert } from "./support/stage.js";
import { countRows, storedSecrets } from "./support/tables.js";
import { start } from "./support/agents.js";
import { repeats } from "./support/repeats.js";
import { type Answer, Client, type Person, world } from "./support/world.js";

const pathOf = (user = "me") => `/api/v2/users/${user}/secrets`;

/** The fields that a response reports as invalid. */
const faulty = ({ body }: Answer) => body.validations?.map(({ field }: { field: string }) => field);

/** A row of a secret that no key decrypts. */
const stored = ({ id: user_id }: Person, name: string, env_name = "", file_path = "", value_bytes = 1) => ({
  id: newId(),
  user_id,
  name,
  env_name,
  file_path,
  value_bytes,
  key_id: "test",
  value_nonce: "\\x",
  value_ciphertext: "\\x",
  created_at: "now",
  updated_at: "now",
});

describe("user secrets", () => {
  const w = world();
  const as = (person: Person) => w().as(person);
  const create = (person: Person, secret: object) => as(person).post(pathOf(), { value: "v", ...secret });
  const created = async (person: Person, secret: object) => {
    const answer = await create(person, secret);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body;
  };
  const patch = (person: Person, name: string, change: object) => as(person).patch(`${pathOf()}/${name}`, change);
  /** The value that the agents of the user get, if the path of the secret is `~/` and its name. */
  const valueOf = async (person: Person, name: string) => {
    const { agents } = await start(w(), person, { name: "main" });
    const agent = new Client(w().url, agents[0]!.token!);
    const { agentManifest } = await agent.graphql("{ agentManifest { secretFiles { path content } } }");
    return agentManifest.secretFiles.find(({ path }: { path: string }) => path === `~/${name}`)?.content;
  };
  /** Inserts many secrets, beyond the limits. Their values are not real ciphertexts. */
  const fill = (person: Person, count: number, bytes: number, isEnv = false) =>
    insert(w(), {
      user_secrets: Array.from({ length: count }, (_, index) =>
        stored(person, `filled-${index + 1}`, isEnv ? `FILLED_${index + 1}` : "", "", bytes),
      ),
    });
  const events = async (resourceId: string) =>
    (await audited(w(), { resourceId })).map(({ action, resourceLabel, diff }) => ({ action, resourceLabel, diff }));

  describe("are stored for their user", () => {
    it("and listed in byte order, with no value in any response", async () => {
      const ada = await w().user("ada");
      expect((await as(ada).get(pathOf())).body).to.deep.equal([]);
      const answers = [];
      for (const name of ["b", "a", "B"]) answers.push(await create(ada, { name }));
      const list = await as(ada).get(pathOf());
      expect(list.body.map(({ name }: { name: string }) => name)).to.deep.equal(["B", "a", "b"]);
      answers.push(list, await as(ada).get(`${pathOf()}/a`), await patch(ada, "a", { value: "w" }));
      for (const { status, body, headers } of answers) {
        expect(status).to.be.oneOf([200, 201]);
        for (const each of [body].flat()) expect(each).to.not.have.property("value");
        expect(headers.get("cache-control")).to.equal("no-store");
      }
    });

    it("under any name that a path can hold", async () => {
      const ada = await w().user("ada");
      for (const name of ["%41", "a b", "grüße \u{1f511}", "...", "me", "a%2Fb", "x".repeat(255)]) {
        const { id } = await created(ada, { name });
        const path = `${pathOf()}/${encodeURIComponent(name)}`;
        expect((await as(ada).get(path)).body, name).to.include({ id, name });
        expect(await as(ada).delete(path)).to.include({ status: 204 });
        expect(await as(ada).delete(path)).to.include({ status: 404 });
      }
      expect(await as(ada).get(`${pathOf()}/%zz`)).to.include({ status: 400 });
      await created(ada, { name: "Case" });
      expect(await as(ada).get(`${pathOf()}/case`)).to.include({ status: 404 });
    });

    it("with the exact value, trailing line breaks included", async () => {
      const ada = await w().user("ada");
      const value = " \t-----BEGIN\r\nkey \u{1f511}\n\n";
      await created(ada, { name: "pem", value, file_path: "~/pem" });
      expect(await valueOf(ada, "pem")).to.equal(value);
      await patch(ada, "pem", { value: "2\n" });
      expect(await valueOf(ada, "pem")).to.equal("2\n");
      await patch(ada, "pem", { description: "the key" });
      expect(await valueOf(ada, "pem"), "kept").to.equal("2\n");
    });

    it("each with its own ciphertext, even for equal values", async () => {
      const ada = await w().user("ada");
      for (const name of ["one", "two"]) await created(ada, { name, value: "the same" });
      await patch(ada, "two", { value: "the same" });
      const [one, two] = await storedSecrets(w(), "user_secrets", "value", {
        owner: "user_id",
        where: { user_id: ada.id },
      });
      for (const part of ["nonce", "ciphertext"] as const) expect(one![part].equals(two![part])).to.equal(false);
      expect(one!.ciphertext.includes("the same")).to.equal(false);
    });

    it("and hidden from all others, site owners included", async () => {
      const [ada, bob] = await w().users("ada", "bob");
      const known = (await as(w().owner).get(`/api/v2/users/${newId()}/secrets/known`)).body;
      await created(ada!, { name: "known", file_path: "~/known" });
      for (const user of [ada!.username, ada!.id]) {
        for (const name of ["known", "unknown"]) {
          const path = `${pathOf(user)}/${name}`;
          for (const person of [w().owner, bob!]) {
            for (const answer of [
              await as(person).get(path),
              await as(person).patch(path, { value: "x" }),
              await as(person).patch(path, {}),
              await as(person).delete(path),
            ]) {
              expect(answer).to.include({ status: 404 });
              expect(answer.body).to.deep.equal(known);
            }
          }
        }
        const secret = { name: "new", value: "v" };
        for (const answer of [await as(w().owner).get(pathOf(user)), await as(w().owner).post(pathOf(user), secret)])
          expect(answer).to.include({ status: 403 });
        for (const answer of [await as(bob!).get(pathOf(user)), await as(bob!).post(pathOf(user), secret)])
          expect(answer).to.include({ status: 404 });
        // Missing values are reported before permission, whatever the caller may read.
        for (const person of [w().owner, bob!])
          expect(await as(person).post(pathOf(user), {})).to.include({ status: 400 });
        expect((await as(ada!).get(pathOf(user))).body).to.have.length(1);
      }
      expect(await as(w().owner).get(pathOf("nobody-there"))).to.include({ status: 404 });
      expect(await valueOf(ada!, "known")).to.equal("v");
    });

    it("until the user is deleted", async () => {
      const ada = await w().user("ada");
      await created(ada, { name: "a" });
      await as(w().owner).graphql(`mutation { deleteUser(input: { user: "${ada.id}" }) { user { id } } }`);
      expect(await countRows(w(), "user_secrets", { user_id: ada.id })).to.equal(0);
    });

    it("and limited by the scopes of the credential", async () => {
      const ada = await w().user("ada");
      await created(ada, { name: "a" });
      const reader = w().as(await w().scoped(ada, "user_secret:read"));
      expect(await reader.get(`${pathOf()}/a`)).to.include({ status: 200 });
      expect(await reader.post(pathOf(), { name: "b", value: "v" })).to.include({ status: 403 });
      expect(await reader.patch(`${pathOf()}/a`, { value: "v" })).to.include({ status: 403 });
      expect(await reader.delete(`${pathOf()}/a`)).to.include({ status: 403 });
    });
  });

  describe("validate their fields", () => {
    it("and report all faults together, in the style of REST and of GraphQL", async () => {
      const ada = await w().user("ada");
      const wrong = { name: "a/b", value: "", env_name: "9x", file_path: "x" };
      const answer = await as(ada).post(pathOf(), wrong);
      expect(answer).to.include({ status: 400 });
      expect(answer.body.message).to.equal("Validation failed.");
      expect(faulty(answer)).to.deep.equal(["name", "value", "env_name", "file_path"]);
      const failure = await as(ada).failure(
        `mutation { createUserSecret(input: { name: "a/b", value: "", envName: "9x", filePath: "x" }) { userSecret { id } } }`,
      );
      expect(failure.code).to.equal("BAD_USER_INPUT");
      expect(failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
        "input.name",
        "input.value",
        "input.envName",
        "input.filePath",
      ]);
      expect(faulty(await as(ada).post(pathOf(), {}))).to.deep.equal(["name", "value"]);
    });

    const refused: Record<string, string[]> = {
      name: ["", " a", "a\u00a0", "a?", "a#", "a\u0007", "a\u0085b", ".", "..", "ä".repeat(128), "a\0", "\ud800"],
      value: ["", "x".repeat(24_577), "ä".repeat(12_289), "a\0b", "a\udc00b"],
      description: ["x".repeat(1025), "a\0"],
      env_name: ["9x", "a-b", "ä", " A", "A\n", "A".repeat(257)],
      file_path: [
        "x",
        "~",
        "/",
        "~/",
        "~x/y",
        "/a/",
        "/a//b",
        "/./a",
        "~/..",
        "/a/../b",
        "~//a",
        "/a\n",
        `/${"a".repeat(4096)}`,
      ],
    };
    for (const [field, texts] of Object.entries(refused)) {
      it(`and reject an invalid ${field}`, async () => {
        const ada = await w().user("ada");
        await created(ada, { name: "there" });
        for (const text of texts) {
          const shown = JSON.stringify(text.slice(0, 20));
          const answer = await create(ada, { name: "new", [field]: text });
          expect(answer, shown).to.include({ status: 400 });
          expect(faulty(answer), shown).to.deep.equal([field]);
          if (field === "name") continue;
          expect(faulty(await patch(ada, "there", { [field]: text })), shown).to.deep.equal([field]);
        }
        expect((await as(ada).get(pathOf())).body).to.have.length(1);
      });
    }

    it("and accept values up to the last byte of each limit", async () => {
      const ada = await w().user("ada");
      const accepted = [
        { name: "ä".repeat(127), value: "x" },
        { name: "v", value: "ä".repeat(12_288) },
        { name: "d", description: "\u{1f511}".repeat(1024) },
        { name: "e", env_name: "_" + "a".repeat(255) },
        { name: "f", file_path: `~/${randomBytes(2047).toString("hex")}` },
        { name: "g", file_path: "/a" },
        { name: "h", file_path: "~/.ssh/..id" },
        { name: "i", env_name: "OPENAI_API_KEY" },
        { name: "j", env_name: "PATHS" },
      ];
      for (const secret of accepted) expect(await created(ada, secret)).to.include({ name: secret.name });
    });

    it("and reject reserved environment names in any letter case, naming the reserved part", async () => {
      const ada = await w().user("ada");
      const reserved = {
        path: /name PATH/,
        Steward: /name STEWARD/,
        Git_Token: /GIT_/,
        STEWARD_X: /STEWARD_/,
        ld_preload: /LD_/,
      };
      for (const [env_name, says] of Object.entries(reserved)) {
        const answer = await create(ada, { name: "x", env_name });
        expect(faulty(answer), env_name).to.deep.equal(["env_name"]);
        expect(answer.body.validations[0].detail).to.match(says);
      }
    });

    it("and report every field of the wrong type", async () => {
      const ada = await w().user("ada");
      const answer = await as(ada).post(pathOf(), {
        name: 1,
        value: ["canary-in-a-list"],
        env_name: {},
        file_path: true,
      });
      expect(faulty(answer)).to.have.members(["name", "value", "env_name", "file_path"]);
      const tooLong = await create(ada, { name: "x", value: "canary".repeat(5_000) });
      expect(faulty(tooLong)).to.deep.equal(["value"]);
      expect(JSON.stringify([answer.body, tooLong.body])).to.not.include("canary");
    });
  });

  describe("as a whole", () => {
    it("are unique by name, variable, and file path, with all conflicts reported together", async () => {
      const [ada, bob] = await w().users("ada", "bob");
      const env_name = "T";
      const file_path = "~/t";
      await created(ada!, { name: "one", env_name, file_path });
      const other = await create(ada!, { name: "two", env_name, file_path });
      expect(other).to.include({ status: 409 });
      expect(other.body.message).to.equal("Validation failed.");
      expect(faulty(other)).to.deep.equal(["env_name", "file_path"]);
      expect(faulty(await create(ada!, { name: "one", env_name, file_path }))).to.deep.equal([
        "name",
        "env_name",
        "file_path",
      ]);
      await created(bob!, { name: "one", env_name, file_path });
      await created(ada!, { name: "two", env_name: "t", file_path: "~/T" });
      await created(ada!, { name: "three" });
      await created(ada!, { name: "four" });

      const moved = await patch(ada!, "two", { env_name, file_path });
      expect(moved).to.include({ status: 409 });
      expect(faulty(moved)).to.deep.equal(["env_name", "file_path"]);
      const failure = await as(ada!).failure(
        `mutation { updateUserSecret(input: { name: "two", envName: "T" }) { userSecret { id } } }`,
      );
      expect(failure.code).to.equal("CONFLICT");
      expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal("input.envName");
      expect(await patch(ada!, "one", { env_name, file_path, value: "same place" })).to.include({ status: 200 });
    });

    it("have no file that is a directory of another file of the same user", async () => {
      const [ada, bob] = await w().users("ada", "bob");
      await created(ada!, { name: "token", file_path: "~/.cfg/app/token" });
      for (const file_path of ["~/.cfg", "~/.cfg/app", "~/.cfg/app/token/deep", "~/.cfg/app/token"]) {
        const other = await create(ada!, { name: "other", file_path });
        expect(other, file_path).to.include({ status: 409 });
        expect(faulty(other), file_path).to.deep.equal(["file_path"]);
      }
      // Wildcards of patterns are plain characters, other letter case is another file, and so is `/` beside `~/`.
      for (const file_path of [
        "~/.cfg/app/token2",
        "~/.cfg/app/tok%",
        "~/.cfg/app/toke_/a",
        "~/.CFG",
        "/.cfg",
        "~/.cf",
      ])
        await created(ada!, { name: `at ${file_path.replaceAll("/", " ")}`, file_path });
      await created(bob!, { name: "other", file_path: "~/.cfg" });

      await created(ada!, { name: "moving", file_path: "~/elsewhere" });
      expect(faulty(await patch(ada!, "moving", { file_path: "~/.cfg" }))).to.deep.equal(["file_path"]);
      const failure = await as(ada!).failure(
        `mutation { updateUserSecret(input: { name: "moving", filePath: "~/.cfg/app/token/x" }) { userSecret { id } } }`,
      );
      expect(failure.code).to.equal("CONFLICT");
      expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal("input.filePath");
      // A secret may move below or above its own path.
      expect(await patch(ada!, "token", { file_path: "~/.cfg/app/token/deep" })).to.include({ status: 200 });
      expect(await patch(ada!, "token", { file_path: "~/.cfg" })).to.include({ status: 409 });
      expect(await patch(ada!, "token", { file_path: "" })).to.include({ status: 200 });
      expect(await patch(ada!, "moving", { file_path: "~/.cfg/app" })).to.include({ status: 409 });
    });

    it("exclude each other's files when created or moved concurrently", async () => {
      const ada = await w().user("ada");
      for (const moved of ["a", "b"]) await created(ada, { name: `moved-${moved}` });
      for (let round = 0; round < 10; round++) {
        const top = `~/r${round}`;
        const deep = `~/r${round}/a/b`;
        const answers = await Promise.all([
          create(ada, { name: `top-${round}`, file_path: top }),
          create(ada, { name: `deep-${round}`, file_path: deep }),
          patch(ada, "moved-a", { file_path: `${top}/a` }),
          patch(ada, "moved-b", { file_path: `${deep}/c` }),
        ]);
        expect(answers.filter(({ status }) => status < 300)).to.have.length(1);
        for (const { status } of answers) expect(status).to.be.oneOf([200, 201, 409]);
        for (const moved of ["a", "b"]) await patch(ada, `moved-${moved}`, { file_path: "" });
      }
    });

    it("are stored once when created concurrently under one name", async () => {
      const ada = await w().user("ada");
      const answers = await Promise.all(Array.from({ length: 8 }, () => create(ada, { name: "same" })));
      expect(answers.map(({ status }) => status)).to.have.members([201, ...Array.from({ length: 7 }, () => 409)]);
    });

    it("are unique by database indexes too", async () => {
      const ada = await w().user("ada");
      await created(ada, { name: "one", env_name: "T", file_path: "~/t" });
      const copy = (name: string, env: string, path: string) =>
        insert(w(), { user_secrets: [stored(ada, name, env, path)] }).then(
          () => undefined,
          ({ constraint }: { constraint: string }) => constraint,
        );
      expect(await copy("one", "", "")).to.equal("user_secrets_name_unique");
      expect(await copy("x", "T", "")).to.equal("user_secrets_env_name_unique");
      expect(await copy("x", "", "~/t")).to.equal("user_secrets_file_path_unique");
      expect(await copy("x", "", "")).to.equal(undefined);
    });

    it("are limited in number, even when created concurrently", async () => {
      const ada = await w().user("ada");
      await fill(ada, 49, 1);
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => create(ada, { name: `n-${n}` })));
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        expect(answer).to.include({ status: 400 });
        expect(faulty(answer)).to.deep.equal(["name"]);
        expect(answer.body.validations[0].detail).to.include("50");
      }
      expect((await as(ada).get(pathOf())).body).to.have.length(50);
    });

    it("are limited in total bytes of values, where a value of equal size may replace another", async () => {
      const ada = await w().user("ada");
      await fill(ada, 9, 22_000);
      await created(ada, { name: "last", value: "x".repeat(6_800), file_path: "~/last" });
      expect(await patch(ada, "last", { value: "y".repeat(6_800) })).to.include({ status: 200 });
      const answer = await patch(ada, "last", { value: "y".repeat(6_801) });
      expect(answer).to.include({ status: 400 });
      expect(faulty(answer)).to.deep.equal(["value"]);
      expect(answer.body.validations[0].detail).to.include("204800");
      expect(faulty(await create(ada, { name: "more", value: "x" }))).to.deep.equal(["value"]);
      expect(await valueOf(ada, "last")).to.equal("y".repeat(6_800));
    });

    it("are limited in total bytes of environment variables", async () => {
      const ada = await w().user("ada");
      await fill(ada, 2, 12_288, true);
      const file = await created(ada, { name: "file", value: "x", file_path: "~/f" });
      const answer = await patch(ada, "file", { env_name: "F" });
      expect(answer).to.include({ status: 400 });
      expect(faulty(answer)).to.deep.equal(["env_name"]);
      expect(answer.body.validations[0].detail).to.include("24576");
      expect((await as(ada).get(`${pathOf()}/file`)).body).to.deep.equal(file);
      const usage = await as(ada).graphql(
        "{ userSecretUsage { count valueBytes envBytes maxCount maxValueBytes maxEnvBytes } }",
      );
      expect(usage.userSecretUsage).to.deep.equal({
        count: 3,
        valueBytes: 24_577,
        envBytes: 24_576,
        maxCount: 50,
        maxValueBytes: 204_800,
        maxEnvBytes: 24_576,
      });
      expect((await as(w().owner).failure(`{ userSecretUsage(user: "${ada.id}") { count } }`)).code).to.equal(
        "FORBIDDEN",
      );
    });

    it("may stay above a lowered limit, shrink, and change otherwise", async () => {
      const ada = await w().user("ada");
      await created(ada, { name: "big", value: "x".repeat(100), env_name: "BIG" });
      await fill(ada, 60, 24_000, true);
      expect(await patch(ada, "big", { description: "still mine", file_path: "~/big" })).to.include({ status: 200 });
      expect(await patch(ada, "big", { value: "x".repeat(99) })).to.include({ status: 200 });
      expect(faulty(await patch(ada, "big", { value: "x".repeat(100) }))).to.deep.equal(["value", "env_name"]);
    });
  });

  describe("change", () => {
    it("only when a given field differs", async () => {
      const ada = await w().user("ada");
      const { id, updated_at } = await created(ada, { name: "a", env_name: "A", file_path: "~/a", description: "d" });
      for (const nothing of [{}, { value: null }, { name: "x" }, { name: "x", description: null }, { user: "bob" }]) {
        const answer = await patch(ada, "a", nothing);
        expect(answer, JSON.stringify(nothing)).to.include({ status: 400 });
        expect(answer.body).to.deep.equal({ message: "At least one field must be provided." });
      }
      const cleared = await patch(ada, "a", { env_name: "" });
      expect(cleared.body).to.include({ id, name: "a", env_name: "", file_path: "~/a", description: "d" });
      expect(cleared.body.updated_at > updated_at).to.equal(true);
      const again = await patch(ada, "a", { env_name: "", description: "d", name: "b" });
      expect(again).to.include({ status: 200 });
      expect(again.body).to.deep.equal(cleared.body);
      expect(await events(id), "no new events").to.have.length(2);
      const sameValue = await patch(ada, "a", { value: "v" });
      expect(sameValue.body.updated_at > cleared.body.updated_at, "a value counts as a change").to.equal(true);
      const bare = await patch(ada, "a", { file_path: "", description: "" });
      expect(bare.body).to.include({ env_name: "", file_path: "", description: "" });
    });

    it("or are deleted, but never reappear after a concurrent change", async () => {
      const ada = await w().user("ada");
      for (let round = 0; round < repeats(8, 30); round++) {
        await created(ada, { name: "a" });
        const [changed, deleted] = await Promise.all([
          patch(ada, "a", { value: "new" }),
          as(ada).delete(`${pathOf()}/a`),
        ]);
        expect(changed.status).to.be.oneOf([200, 404]);
        expect(deleted).to.include({ status: 204 });
        expect(await as(ada).get(`${pathOf()}/a`)).to.include({ status: 404 });
      }
    });

    it("in GraphQL as in REST", async () => {
      const ada = await w().user("ada");
      const client = as(ada);
      const fields = "name description envName filePath lastDeliveredAt";
      const made = await client.graphql(
        `mutation { createUserSecret(input: { name: "a", value: "v", envName: "A" }) { userSecret { ${fields} } } }`,
      );
      const secret = { name: "a", description: "", envName: "A", filePath: "", lastDeliveredAt: null };
      expect(made).to.deep.equal({ createUserSecret: { userSecret: secret } });
      const changed = await client.graphql(
        `mutation { updateUserSecret(input: { name: "a", description: "d" }) { userSecret { ${fields} } } }`,
      );
      expect(changed).to.deep.equal({ updateUserSecret: { userSecret: { ...secret, description: "d" } } });
      expect(await client.graphql(`{ userSecrets { ${fields} } userSecret(name: "a") { ${fields} } }`)).to.deep.equal({
        userSecrets: [{ ...secret, description: "d" }],
        userSecret: { ...secret, description: "d" },
      });
      const gone = await client.graphql(
        `mutation { deleteUserSecret(input: { name: "a" }) { userSecret { ${fields} } } }`,
      );
      expect(gone).to.deep.equal({ deleteUserSecret: { userSecret: { ...secret, description: "d" } } });
      expect((await client.failure(`{ userSecret(name: "a") { id } }`)).code).to.equal("NOT_FOUND");
      expect((await as(w().owner).failure(`{ userSecrets(user: "${ada.id}") { id } }`)).code).to.equal("FORBIDDEN");
    });

    it("with audit events that show the owner and the fields written, and nothing else", async () => {
      const ada = await w().user("ada");
      const { id } = await created(ada, { name: "telltale-name", value: "telltale-value", env_name: "TELLTALE" });
      await patch(ada, "telltale-name", { value: "telltale-two", env_name: "", file_path: "~/telltale" });
      await as(ada).delete(`${pathOf()}/telltale-name`);
      const hidden = { new: "***" };
      const both = { old: "***", new: "***" };
      expect(await events(id)).to.deep.equal([
        {
          action: "CREATE",
          resourceLabel: id,
          diff: { userId: { new: ada.id }, name: hidden, value: hidden, envName: hidden },
        },
        {
          action: "UPDATE",
          resourceLabel: id,
          diff: { userId: { old: ada.id, new: ada.id }, envName: both, filePath: both, value: both },
        },
        {
          action: "DELETE",
          resourceLabel: id,
          diff: { userId: { old: ada.id }, value: { old: "***" }, name: { old: "***" }, filePath: { old: "***" } },
        },
      ]);
      const { auditEvents } = await as(w().owner).graphql(
        `{ auditEvents(filter: { resourceType: "user_secret" }) { nodes { resourceId resourceLabel diff } } }`,
      );
      expect(auditEvents.nodes.filter(({ resourceId }: { resourceId: string }) => resourceId === id)).to.have.length(3);
      expect(JSON.stringify(auditEvents).toLowerCase()).to.not.include("telltale");
    });
  });
});
