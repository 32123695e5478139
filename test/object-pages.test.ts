// The pages of objects, to which notifications link.
import { expect } from "chai";
import { makeEndpoint } from "./support/event-receiver.js";
import { newId } from "./support/ids.js";
import { echo, makeTemplate } from "./support/templates.js";
import { type Person, world } from "./support/world.js";

const html = { Accept: "text/html" };

describe("the page", () => {
  const w = world();
  const visit = (path: string, person?: Person) => (person ? w().as(person) : w().nobody).get(path, html);

  it("of a template shows its name, organization, and active version, and no markup of its texts", async () => {
    const { id, name } = await makeTemplate(w(), { displayName: "<b>Box</b>", description: "For & all" });
    const page = await visit(`/templates/${id}`, w().owner);
    expect(page).to.include({ status: 200 });
    expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
    for (const text of [
      "&lt;b&gt;Box&lt;/b&gt;",
      "For &amp; all",
      `<dd>${name}</dd>`,
      "Default",
      "version v1 is active",
    ])
      expect(page.body).to.include(text);
    expect(page.body).to.not.include("<b>Box");
  });

  it("of a user shows the name and the status", async () => {
    const ada = await w().user("ada");
    const page = await visit(`/users/${ada.id.toUpperCase()}`, ada);
    expect(page).to.include({ status: 200 });
    expect(page.body).to.include(`<dd>${ada.username}</dd>`).and.to.include("<dd>active</dd>");
  });

  it("of a workspace shows the owner and the status", async () => {
    const ada = await w().user("ada");
    const { id, name } = await w().workspace(ada);
    const page = await visit(`/workspaces/${id}`, ada);
    expect(page).to.include({ status: 200 });
    for (const text of [name, ada.username, "running"]) expect(page.body).to.include(`<dd>${text}</dd>`);
  });

  it("of a task shows its name, owner, and status", async () => {
    const ada = await w().user("ada");
    const agent = { name: "main", os: "linux", arch: "amd64", apps: [{ slug: "chat", url: "http://127.0.0.1:1" }] };
    const resources = [{ name: "box", agents: [agent] }];
    const { version } = await makeTemplate(w(), {
      document: { ...echo, resources, ai_task: { agent: "main", app: "chat" } },
    });
    const input = { template_version_id: version, display_name: "Fix <it>", input: "x" };
    const { body } = await w().as(ada).post("/api/v2/tasks/me", input);
    const page = await visit(`/tasks/${body.id}`, ada);
    expect(page).to.include({ status: 200 });
    expect(page.body).to.include("Fix &lt;it&gt;");
    for (const text of [body.name, ada.username, "pending"]) expect(page.body).to.include(`<dd>${text}</dd>`);
    expect(await visit(`/tasks/${body.id}`, await w().user("eve"))).to.include({ status: 404 });
  });

  it("of an event endpoint shows its name and its status", async () => {
    const { id } = await makeEndpoint(w(), "https://events.example.com/", { name: "<Chat>" });
    const page = await visit(`/event-endpoints/${id}`, w().owner);
    expect(page).to.include({ status: 200 });
    for (const text of ["&lt;Chat&gt;", "<dd>active</dd>"]) expect(page.body).to.include(text);
    expect(await visit(`/event-endpoints/${id}`, await w().user("eve"))).to.include({ status: 404 });
  });

  it("is not found if the object is missing or unreadable, and asks to sign in first", async () => {
    const [ada, eve] = await w().users("ada", "eve");
    const { id: template } = await makeTemplate(w(), { everyoneCanUse: false });
    const { id: workspace } = await w().workspace(ada!);
    for (const path of [`/templates/${template}`, `/workspaces/${workspace}`, `/users/${ada!.id}`]) {
      const missing = path.replace(/[^/]+$/, newId());
      const unreadable = await visit(path, eve);
      const unknown = await visit(missing, eve);
      expect(unreadable, path).to.include({ status: 404 });
      const withoutId = ({ body }: { body: string }) => body.replace(/Request id <code>[^<]+/, "");
      expect(withoutId(unreadable)).to.equal(withoutId(unknown));
      expect(await visit(path.replace(/[^/]+$/, "x"), eve)).to.include({ status: 404 });
      const signedOut = await visit(path);
      expect(signedOut).to.include({ status: 303 });
      expect(signedOut.headers.get("location")).to.equal(`/login?return_to=${encodeURIComponent(path)}`);
    }
  });
});
