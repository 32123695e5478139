// Looks inside: every template is rendered, most of whose events would take hours to cause.
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { mailOf } from "../../../src/domain/notifications/mail.js";
import { render } from "../../../src/domain/notifications/rendering.js";
import { templates } from "../../../src/domain/notifications/templates/all-templates.js";
import { conductOf, launchBrowser } from "../../support/browser.js";
import { Mailbox, unsubscribePath } from "../../support/mailbox.js";
import { eventually } from "../../support/watchers.js";
import { messages } from "../../support/inbox.js";
import { type Person, startWorld, type World } from "../../support/world.js";

const hostile = "[x](javascript:1)<b>";
const long = `${hostile} ${"a-name-without-any-space-".repeat(5)}`;
/** The label of passcodes, which consist of letters and digits. */
const passcode = "one_time_passcode";
const user = { name: "Ada <Lovelace>", username: "ada", email: "ada@example.com" };
const app = { name: "Steward", base_url: "https://steward.example.com", logo_url: "", docs_url: "", year: 2026 };

/** The mail of a template, with long values. */
function mailFor(template: (typeof templates)[number]) {
  const labels = Object.fromEntries(
    template.labels.map((label) => [label, label === passcode ? "7K2M9QXW4T" : `${label} ${long}`]),
  );
  const data = {
    id: "01900000-0000-7000-8000-000000000000",
    minutes: 20,
    volumes: [{ path: `/${long}`, threshold: "90%" }],
  };
  const payload = { ...render(template, { labels, data, user, app }), labels, data, targets: [] };
  return mailOf(payload, {
    recipient: user,
    template,
    accessUrl: app.base_url,
    unsubscribeUrl: `${app.base_url}/?token=x`,
  });
}

/** Evaluated in the page: the texts with less contrast than WCAG AA asks for, 4.5:1. */
const faintTexts = `(() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const { backgroundColor } = getComputedStyle(element);
    const isClear = channels(backgroundColor)[3] === 0;
    return isClear && element.parentElement ? behind(element.parentElement) : backgroundColor;
  };
  const hasText = ({ childNodes }) => [...childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isFaint = (element) => {
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    return !((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) >= 4.5);
  };
  return [...document.querySelectorAll("body *")].filter(hasText).filter(isFaint).map((each) => each.textContent.trim());
})()`;

describe("mails about notifications", () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());

  for (const colorScheme of ["light", "dark"] as const)
    it(`are readable on a narrow screen with ${colorScheme} colors, and load nothing`, async () => {
      const page = await browser.newPage({ colorScheme, viewport: { width: 320, height: 600 } });
      const conduct = conductOf(page, app.base_url);
      for (const template of templates) {
        await page.setContent(mailFor(template).html);
        expect(await page.evaluate("document.documentElement.scrollWidth"), template.name).to.equal(320);
        expect(await page.evaluate(faintTexts), template.name).to.deep.equal([]);
      }
      expect([conduct.strangers, conduct.complaints]).to.deep.equal([[], []]);
      await page.close();
    });

  it("show labels literally, whatever they contain", async () => {
    const page = await browser.newPage();
    for (const template of templates.filter(({ labels }) => labels.length > 0 && !labels.includes(passcode))) {
      const { subject, text, html } = mailFor(template);
      await page.setContent(html);
      const shown = await page.locator(".card").innerText();
      for (const each of [subject + text, shown]) expect(each, template.name).to.include(hostile);
      expect(await page.locator("a:not([href^='https://steward.example.com'])").count(), template.name).to.equal(0);
      expect(await page.locator("b").count(), template.name).to.equal(0);
    }
    await page.close();
  });

  it("say the same in text and in HTML", async () => {
    const page = await browser.newPage();
    const words = (text: string) => text.replace(/[^\w%]+/g, " ").trim();
    for (const template of templates) {
      const { text, html } = mailFor(template);
      await page.setContent(html);
      const shown = words(await page.locator(".card").innerText());
      const [body = ""] = text.split("\n-- \n");
      for (const paragraph of body.split("\n\n").filter((each) => !each.includes("https://")))
        expect(shown, template.name).to.include(words(paragraph));
    }
    await page.close();
  });
});

describe("links that unsubscribe from mails", () => {
  let mailbox: Mailbox;
  let w: World;
  let browser: Browser;
  let ada: Person;

  before(async () => {
    mailbox = await Mailbox.open();
    w = await startWorld(mailbox.settings);
    browser = await launchBrowser();
    ada = await w.user("ada");
  });
  after(async () => {
    await browser.close();
    await w.close();
    await mailbox.close();
  });

  const custom = (title: string) => w.as(ada).post("/api/v2/notifications/custom", { content: { title } });
  const preferences = async () =>
    (await w.as(ada).graphql(`{ notificationPreferences(user: "me") { templateId disabledMethods } }`))
      .notificationPreferences;

  it("show a page that turns off the mails of the template, but nothing else", async () => {
    await custom("first");
    const letter = await mailbox.letter(ada.email);
    expect(letter.text).to.match(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r?$/m);
    const visitor = await browser.newPage({ javaScriptEnabled: false, viewport: { width: 320, height: 600 } });
    await visitor.goto(w.url + unsubscribePath(w, letter));
    expect(await visitor.innerText("main")).to.include("Custom Notification");
    expect(await preferences(), "a GET changes nothing").to.deep.equal([]);
    await visitor.click("button");
    await visitor.getByText("You are unsubscribed.").waitFor();
    expect(await visitor.innerText("main")).to.include("You are unsubscribed.");
    await visitor.close();
    const off = [{ templateId: "39b1e189-c857-4b0c-877a-511144c18516", disabledMethods: ["SMTP"] }];
    expect(await preferences()).to.deep.equal(off);

    await custom("second");
    const { body } = await w.as(ada).get("/api/v2/notifications/inbox");
    expect(body.notifications[0].title).to.equal("second");
    const states = async () => (await messages(w, { user: ada.id, method: "SMTP" })).map(({ state }) => state);
    // A mail arrives before it is recorded as sent.
    await eventually(async () => !(await states()).includes("LEASED"), "the first mail is recorded");
    expect(await states()).to.deep.equal(["SENT", "INHIBITED"]);
  });
});
