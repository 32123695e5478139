// One corpus of notifications, as all places show it: every template, with hostile values, in mails, over both interfaces,
// in the console, and on the command line.
// Looks inside: all templates, which only their events use, and the mail of each.
import { expect } from "chai";
import { mailOf } from "../../../src/domain/notifications/mail.js";
import { notify } from "../../../src/domain/notifications/notify.js";
import { customTemplate } from "../../../src/domain/notifications/templates/custom-templates.js";
import { templates } from "../../../src/domain/notifications/templates/all-templates.js";
import type { PlainTemplate } from "../../../src/domain/notifications/templates/template.js";
import { systemContext } from "../../support/app.js";
import { prints, UserCli } from "../../support/cli.js";
import { consoleTests } from "../../support/console.js";
import { eventually, transports } from "../../support/watchers.js";
import type { ResultOf } from "../../support/world.js";

/** Values that a parser of Markdown must show as they are: every mark, forged links in every form, and blocks. */
const values = [
  ...Array.from("\\`*_[]<>&~!#-+=|.:/(){}\"'"),
  "[sign in again](https://evil.example/a)",
  "\\[sign in again\\](https://evil.example/b)",
  "**bold** `code` ~~gone~~ __under__",
  "<https://evil.example/c> <b>html</b> &lt;b&gt; &#60;",
  "![image](https://evil.example/d.png)",
  "[reference][1] [1]: https://evil.example/e",
  "`](https://evil.example/f) [`",
  "1. one 2) two - three # four",
  "a\\",
  "\\*\\*",
  "]( )[](",
];

/** The text of HTML, as browsers show it. */
const shownBy = (html: string) =>
  html
    .replace(/<(?:style|head)\b.*?<\/(?:style|head)>/gs, "")
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

const letters = (text: string) => text.replace(/\s/g, "");

describe("the texts of notifications", () => {
  const console = consoleTests();
  let cli: UserCli;
  before(async () => {
    cli = await UserCli.open();
  });
  after(() => cli.close());

  it("are the same in mails, over the interfaces, in the console, and on the command line", async () => {
    const { world, page, openAs } = console();
    const ada = await world.user("ada");
    const enabled = Object.fromEntries(templates.map(({ id }) => [id, false]));
    await world.as(ada).put("/api/v2/users/me/notifications/preferences", { template_disabled_map: enabled });
    const url = world.app.services.config.accessUrl;
    const environment = { env: { STEWARD_URL: url, STEWARD_TOKEN: ada.token } };
    const watch = cli.start(["inbox", "watch"], environment);
    await prints(watch, "Watching the inbox");
    const plain = await transports.subscription(url, ada.token, { query: "?format=plaintext" });

    const given: Array<{ template: string; values: string[] }> = [];
    let nr = 0;
    const next = () => values[nr++ % values.length]!;
    const notifyAll = async () => {
      const ctx = systemContext(world.app);
      await ctx.transactional(async () => {
        for (const template of templates)
          for (let left = values.length; left > 0; left -= Math.max(1, template.labels.length)) {
            const labels = Object.fromEntries(template.labels.map((name) => [name, next()]));
            const made = {
              template: template as PlainTemplate,
              recipients: [ada.id],
              targets: [],
              labels,
              data: { id: "x" },
            };
            if ((await notify(ctx, made)).length > 0)
              given.push({ template: template.name, values: Object.values(labels) });
          }
      });
    };
    await notifyAll();
    expect(new Set(given.map(({ template }) => template)).size).to.be.greaterThan(templates.length - 3);

    // Over the interfaces, oldest first.
    const latest = `query($after: String) { inboxNotifications(first: 100, after: $after) { pageInfo { endCursor hasNextPage }
       nodes { id title content plainTitle plainContent actions { label url } } } }`;
    const nodes: ResultOf<typeof latest>["inboxNotifications"]["nodes"] = [];
    for (let after: string | null = null, isLast = false; !isLast;) {
      const { inboxNotifications: found }: ResultOf<typeof latest> = await world.as(ada).graphql(latest, { after });
      nodes.push(...found.nodes);
      after = found.pageInfo.endCursor;
      isLast = !found.pageInfo.hasNextPage;
    }
    const byId = new Map(nodes.map((node) => [node.id, node]));
    await eventually(() => plain.items.length === given.length, "the subscription", 120_000);
    const ordered = plain.items.map(({ id }) => byId.get(id)!);
    for (const [at, { title, content }] of plain.items.entries())
      expect({ title, content }).to.deep.equal({ title: ordered[at]!.plainTitle, content: ordered[at]!.plainContent });

    // Each value is shown as it is, and links are those of the notification alone.
    for (const [at, { plainTitle, plainContent, title, content, actions }] of ordered.entries()) {
      const text = `${plainTitle} ${plainContent}`;
      const { template, values: its } = given[at]!;
      for (const value of its)
        if (isShown(template, value, its)) expect(letters(text), `${template}: ${text}`).to.include(letters(value));
      const mail = mailOf({ title, body: content, actions } as Parameters<typeof mailOf>[0], {
        recipient: { name: "Ada", username: "ada" },
        template: { name: template, kind: "system", group: "Group", recipients: "You." },
        accessUrl: url,
        unsubscribeUrl: undefined,
      });
      expect(mail.subject).to.equal(plainTitle);
      expect(mail.text).to.include(plainContent);
      const links = [...mail.html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href]) => href!);
      // The message of a custom notification is Markdown that its reader wrote.
      if (template !== customTemplate.name)
        expect(links, template).to.deep.equal([...actions.map((each) => each.url), url]);
      // Quotes and numbers of lists are marks in HTML.
      for (const value of its)
        if (isShown(template, value, its)) expect(letters(shownBy(mail.html)), template).to.include(letters(value));
    }

    // On the command line.
    await eventually(
      () =>
        watch
          .stdout()
          .split("\n")
          .filter((line) => /^\d{4}-/.test(line)).length === given.length,
      "the watch",
      120_000,
    );
    watch.child.kill("SIGINT");
    await watch.ended;
    for (const { plainTitle, plainContent } of ordered) {
      expect(watch.stdout()).to.include(`Z  ${plainTitle}\n`);
      for (const line of plainContent.split("\n")) expect(watch.stdout()).to.include(`    ${line}\n`);
    }
    const { stdout: listed } = await cli.runWith(environment, "inbox", "list", "--limit", "1000");
    const titles = listed
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t").slice(3).join(" "));
    expect(titles).to.have.members(ordered.map(({ plainTitle }) => plainTitle));

    // In the console, page by page, newest first.
    await openAs(ada, "/inbox");
    const shown: Array<{ title: string; text: string; links: string[] }> = [];
    // Without their times, which change while they are shown.
    const articles = () =>
      page.getByRole("article").evaluateAll((all) =>
        all.map((each) => ({
          title: each.querySelector("h2")!.textContent!,
          text: each.querySelector(".text")!.textContent!,
          links: [...each.querySelectorAll("a")].map((link) => link.getAttribute("href")!),
        })),
      );
    await page.getByRole("article").first().waitFor();
    for (;;) {
      const before = await articles();
      shown.push(...before);
      if (shown.length >= ordered.length) break;
      await page.getByRole("button", { name: "Next", exact: true }).click();
      const isNew = async () => JSON.stringify(await articles()) !== JSON.stringify(before);
      await eventually(isNew, "the next page", 120_000);
    }
    const key = (each: { title: string; text: string; links: string[] }) => JSON.stringify(each);
    expect(shown.map(key).toSorted()).to.deep.equal(
      ordered
        .map(({ plainTitle, plainContent, actions }) =>
          key({ title: plainTitle, text: plainContent, links: actions.map((each) => each.url) }),
        )
        .toSorted(),
    );
    plain.close();
  });
});

/**
 * Whether a template shows a value as text: some have texts of their own instead for a label, or no place for it. The code
 * that one has in a block of code is made by the server.
 */
function isShown(name: string, value: string, its: readonly string[]): boolean {
  const template = templates.find((each) => each.name === name)!;
  const text = template.title + template.body;
  const label = template.labels[its.indexOf(value)];
  return new RegExp(`\\{\\{-? *labels\\.${label} *-?\\}\\}`).test(text) && !/%\}|```/.test(text);
}
