// The conversation of a task in the console, which is held with the keyboard.
import { expect } from "chai";
import { expectAccessible } from "../support/accessibility.js";
import { AgentProgram } from "../support/agent-api.js";
import { type Console, consoleTests, echoDocument, externalAgent, importedTemplate } from "../support/console.js";
import { eventually } from "../support/watchers.js";

describe("the console holds the conversation of a task", () => {
  const console = consoleTests();

  let program: AgentProgram;
  before(async () => {
    program = await AgentProgram.open();
    // While it works, messages are queued.
    program.status = "running";
  });
  after(() => program.close());

  const document = () =>
    echoDocument([{ ...externalAgent, apps: [{ slug: "chat", url: program.url }] }], {
      ai_task: { agent: "main", app: "chat" },
    });

  /** A part of a message in the language of GraphQL. */
  const text = (of: string) => `{ kind: TEXT, text: ${JSON.stringify(of)} }`;

  /** Starts a task whose agent is the test, and opens it. */
  async function started({ world, asOwner, heading }: Console, name: string, prompt: string) {
    await importedTemplate(world, name, document());
    const owner = world.as(world.owner);
    const { templates } = await owner.graphql(
      `{ templates(filter: { search: "${name}" }) { nodes { activeVersion { id } } } }`,
    );
    const { createTask } = await owner.graphql(
      "mutation($input: CreateTaskInput!) { createTask(input: $input) { task { id workspaceId } } }",
      { input: { input: prompt, displayName: name, templateVersionId: templates.nodes[0]!.activeVersion.id } },
    );
    const { id, workspaceId } = createTask.task;
    const status = "query($id: UUID!) { workspace(id: $id) { latestBuild { job { status } } } }";
    await eventually(
      async () => (await owner.graphql(status, { id: workspaceId })).workspace.latestBuild.job.status === "SUCCEEDED",
      "the build",
      20_000,
    );
    const { externalAgentCredentials } = await owner.graphql(
      `query($id: UUID!) { externalAgentCredentials(workspaceId: $id, agentName: "main") { agentToken } }`,
      { id: workspaceId },
    );
    const agent = world.as({ token: externalAgentCredentials.agentToken });
    const mutate = (mutation: string, input: string) =>
      agent.graphql(`mutation { ${mutation}(input: { ${input} }) { __typename } }`);
    for (const state of ["STARTING", "READY"]) await mutate("reportAgentLifecycle", `state: ${state}`);
    await mutate("beginTaskConversation", `taskId: "${id}", protocol: ACP`);
    let count = 0;
    /** Reports a message of the program, or of a user. */
    const say = (parts: string[], { role = "AGENT", state = "WORKING", key = String(++count) } = {}) =>
      mutate(
        "reportTaskConversation",
        `taskId: "${id}", state: ${state}, messages: [{ key: "${key}", role: ${role},
          writtenAt: "2026-01-02T03:04:05Z", parts: [${parts.join()}] }]`,
      );
    await asOwner(`/tasks/${id}`);
    await heading(name);
    const inputs = async (): Promise<string[]> => {
      const { task } = await owner.graphql("query($id: String!) { task(task: $id) { inputs { content } } }", { id });
      return task.inputs.map(({ content }: { content: string }) => content);
    };
    return { id, say, inputs };
  }

  const log = ({ page }: Console) => page.getByRole("log", { name: "Messages" });

  it("sends with Enter, and with Ctrl, but breaks lines with Shift, and not while a character is composed", async () => {
    const c = console();
    const { say, inputs } = await started(c, "typing", "Type");
    await say([text("Ready.")]);
    const field = c.page.getByLabel("Message", { exact: true });
    await field.focus();
    const { keyboard } = c.page;
    await keyboard.press("Enter");
    await keyboard.type("One");
    await keyboard.press("Shift+Enter");
    await keyboard.type("two");
    for (const key of ["Enter", "Process"])
      await field.dispatchEvent("keydown", { key, isComposing: true, bubbles: true, cancelable: true });
    expect(await field.inputValue(), "not sent yet").to.equal("One\ntwo");
    await keyboard.press("Enter");
    await eventually(async () => (await inputs()).length === 1, "the first message");
    expect(await field.inputValue()).to.equal("");
    await keyboard.type("Three");
    await keyboard.press("Control+Enter");
    await eventually(async () => (await inputs()).length === 2, "the second message");
    expect((await inputs()).toSorted()).to.deep.equal(["One\ntwo", "Three"]);
    await log(c).getByText("Three").waitFor();
  });

  it("keeps a message that the server rejects, with what was typed meanwhile", async () => {
    const c = console();
    const { say } = await started(c, "rejected", "Type");
    await say([text("Ready.")], { state: "IDLE" });
    const field = c.page.getByLabel("Message", { exact: true });
    await c.page.route("**/graphql", (route) =>
      route.request().postData()?.includes("sendTaskInput")
        ? route.fulfill({ json: { errors: [{ message: "Not now.", extensions: { code: "CONFLICT" } }] } })
        : route.continue(),
    );
    await field.fill("Lost?");
    await field.press("Enter");
    await c.page.getByRole("alert").getByText("Not now.").waitFor();
    expect(await field.inputValue()).to.equal("Lost?");
  });

  it("follows the newest message, unless the reader has scrolled up", async () => {
    const c = console();
    const { say } = await started(c, "long", "Count");
    const lines = Array.from({ length: 60 }, (_, at) => `Line ${at}`).join("\n\n");
    await say([text(lines)]);
    const messages = log(c);
    const distance = () => messages.evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);
    await messages.getByText("Line 59").waitFor();
    await eventually(async () => (await distance()) < 2, "the end");
    await say([text("The next one")]);
    await messages.getByText("The next one").waitFor();
    await eventually(async () => (await distance()) < 2, "the end after the next message");
    expect(await c.page.getByRole("button", { name: "Newest" }).count()).to.equal(0);
    await messages.focus();
    await c.page.keyboard.press("Home");
    const newest = c.page.getByRole("button", { name: "Newest" });
    await newest.waitFor();
    const place = () => messages.evaluate((box) => box.scrollTop);
    await eventually(async () => (await place()) === 0, "the beginning");
    await say([text("And one more")]);
    await messages.getByText("And one more").waitFor();
    expect(await place(), "stays").to.equal(0);
    await newest.press("Enter");
    await eventually(async () => (await distance()) < 2, "the end again");
    await newest.waitFor({ state: "detached" });
    await say([text("The last")]);
    await messages.getByText("The last").waitFor();
    await eventually(async () => (await distance()) < 2, "follows again");
  });

  it("shows the prompt once, formatted messages, and decisions where they are needed", async () => {
    const c = console();
    const prompt = "Tidy up:\n- the code\n- the tests";
    const { id, say } = await started(c, "formatted", prompt);
    await say([text(`${prompt} `)], { role: "USER" });
    await say([
      text(
        "# Plan\n\nI will **tidy** `main.ts`, see [the guide](https://guide.example.com) and [this](javascript:alert(1)).\n\n1. First <b onclick=alert(1)>raw</b>\n2. Second & last\n\n```js\nif (a < b) c();\n```",
      ),
    ]);
    await say(
      [
        `{ kind: TOOL_CALL, toolCallId: "c", title: "Remove old files", status: PENDING }`,
        `{ kind: PERMISSION, requestId: "r", title: "Remove old files", options: [
          { id: "y", name: "Allow it", kind: ALLOW_ONCE }, { id: "n", name: "Reject it", kind: REJECT_ONCE }] }`,
      ],
      { state: "REQUIRES_ACTION" },
    );
    const messages = log(c);
    await messages.getByRole("button", { name: "Allow it" }).waitFor();
    const shown = await messages.innerText();
    expect(shown.split("- the code").length - 1, "times the prompt").to.equal(1);
    expect(shown).to.include("<b onclick=alert(1)>raw</b>").and.include("Second & last").and.not.include("**");
    expect(await messages.locator("strong").allInnerTexts()).to.deep.equal(["tidy"]);
    expect(await messages.locator("pre code").innerText()).to.equal("if (a < b) c();\n");
    expect(await messages.getByRole("heading", { level: 3 }).allInnerTexts()).to.deep.equal(["Plan"]);
    const links = await messages
      .locator(".markup a")
      .evaluateAll((all) => all.map((each) => each.getAttribute("href")));
    expect(links).to.deep.equal(["https://guide.example.com"]);
    expect(await messages.locator("[onclick]").count()).to.equal(0);
    await expectAccessible(c.page, "a conversation");
    await messages.getByRole("button", { name: "Reject it" }).focus();
    const [decision] = await Promise.all([
      c.page.waitForResponse((response) => response.request().postData()?.includes("decideTaskPermission") ?? false),
      c.page.keyboard.press("Enter"),
    ]);
    const { input } = decision.request().postDataJSON().variables;
    expect(input).to.deep.equal({ task: id, requestId: "r", optionId: "n" });
    expect((await decision.json()).data.decideTaskPermission.task.id).to.equal(id);
  });
});
