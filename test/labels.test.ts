// Labels: what people name is one line without what terminals and pages obey; what other systems name is cleaned.
// Looks inside: an upgrade finds labels of an earlier release.
import { expect } from "chai";
import { fillIn } from "./support/backfills.js";
import { controls } from "./support/hostile-steward.js";
import { setColumns } from "./support/tables.js";
import { type Anything, startWorld, type World } from "./support/world.js";

/** Characters that a text may have at all. */
const storable = controls.filter((each) => each !== "\u0000");

describe("labels", () => {
  let w: World;
  before(async () => {
    w = await startWorld();
  });
  after(() => w.close());

  const textOf = (name: string) =>
    `mutation($input: ${name[0]!.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`;

  it("that people choose have none of these characters, and may have the marks of names", async () => {
    const document = (part: object) => ({
      schema: "steward.template/1",
      provisioner: "echo",
      resources: [{ name: "box" }],
      ...part,
    });
    const option = (name: string) => ({ name: "size", options: [{ name, value: "a" }] });
    const agent = (part: object) => ({ name: "main", os: "linux", arch: "amd64", command: ["true"], ...part });
    type Case = [what: string, mutation: string, input: (label: string) => object];
    const own: Case[] = [
      ["the name of a person", "updateUser", (name) => ({ user: w.owner.username, name })],
      ["a token", "createApiKey", (name) => ({ name })],
      ["an organization", "createOrganization", (displayName) => ({ name: "one", displayName })],
      ["a group", "createGroup", (displayName) => ({ organization: "default", name: "one", displayName })],
      ["an application", "createOAuth2App", (name) => ({ name, callbackUrl: "https://app.example.com/back" })],
      ["a notification", "sendCustomNotification", (title) => ({ content: { title, message: "" } })],
      ["the deployment", "updateAppearance", (applicationName) => ({ applicationName })],
      ["a secret", "createUserSecret", (name) => ({ name, value: "x" })],
    ];
    const parts: Record<string, (label: string) => object> = {
      "a resource": (name: string) => ({ resources: [{ name }] }),
      "a preset": (name: string) => ({ presets: [{ name }] }),
      "a parameter": (display_name: string) => ({ parameters: [{ name: "size", default: "", display_name }] }),
      "an option": (name: string) => ({ parameters: [{ ...option(name), default: "a" }] }),
      "an app": (display_name: string) => ({
        resources: [
          { name: "box", agents: [agent({ apps: [{ slug: "web", url: "http://localhost:1", display_name }] })] },
        ],
      }),
    };
    const inDocuments = Object.entries(parts).map(([what, part]): Case => {
      const input = (label: string) => ({ organization: "default", name: "one", document: document(part(label)) });
      return [what, "createTemplate", input];
    });
    const fields = [...own, ...inDocuments];
    for (const [what, mutation, input] of fields)
      for (const control of storable) {
        const code = `${what} with U+${control.charCodeAt(0).toString(16)}`;
        const failure = await w.as(w.owner).failure(textOf(mutation), { input: input(`a${control}b`) });
        expect(JSON.stringify(failure), code).to.match(/control characters|white space/i);
      }
    const marked = "a\u200eb\u200fc\u061cd\u200de";
    await w.as(w.owner).graphql(textOf("createApiKey"), { input: { name: marked } });
  });

  it("of prompts, registrations, and sources of SCIM are cleaned", async () => {
    const label = `a${storable.join("b")}c`;
    const client = await fetch(`${w.url}/oauth2/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        client_name: label,
        software_id: label,
        redirect_uris: ["http://127.0.0.1:1/back"],
        token_endpoint_auth_method: "none",
      }),
    });
    const registered = (await client.json()) as Anything;
    expect(client.status, JSON.stringify(registered)).to.equal(201);
    for (const name of ["client_name", "software_id"])
      for (const control of storable) expect(registered[name].includes(control), name).to.equal(false);
  });

  it("of an earlier release are cleaned by the upgrade, with a number where two become equal", async () => {
    const [ada, bob] = await w.users("ada", "bob");
    await setColumns(w, "users", { id: ada!.id }, { name: "A\u001b[31mda\u202e Love\u009blace\u2028" });
    const names = ["one", "o\u202ene", "on\u2066e", "\u009b", "\u009b\u001b"];
    for (const name of names) {
      const { createApiKey } = await w
        .as(bob!)
        .graphql("mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }", {
          input: { name: `k${names.indexOf(name)}` },
        });
      await setColumns(w, "api_keys", { id: createApiKey.apiKey.id }, { name });
    }
    for (;;) {
      const counts = await fillIn(w, "0093-clean-labels");
      if (counts.every((count) => count === 0)) break;
    }
    const { user } = await w.as(w.owner).graphql(`{ user(user: "${ada!.id}") { name } }`);
    expect(user.name).to.equal("A [31mda Love lace");
    const { apiKeys } = await w.as(bob!).graphql("{ apiKeys(kind: TOKEN) { name } }");
    expect(apiKeys.map(({ name }: { name: string }) => name)).to.have.members([
      "one",
      "one-2",
      "one-3",
      "unnamed",
      "unnamed-2",
    ]);
  });
});
