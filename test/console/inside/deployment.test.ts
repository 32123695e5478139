// Infrastructure, settings of the deployment, logs, and what belongs to the user, in the console.
// Looks inside: deliveries fail without an hour of attempts.
import { readFile } from "node:fs/promises";
import { expect } from "chai";
import type { Locator } from "playwright-core";
import { consoleTests, echoDocument } from "../../support/console.js";
import { newId } from "../../support/ids.js";
import { customTemplateId } from "../../support/inbox.js";
import { trusting, Vendor } from "../../support/licensing.js";
import { changeBesideJobs } from "../../support/locks.js";
import { serve } from "../../support/provisioners.js";
import { makeScimKey, ScimClient } from "../../support/scim.js";
import { eventually } from "../../support/watchers.js";

describe("the console shows the deployment", () => {
  const console = consoleTests();

  /** Runs a mutation as the owner. */
  const change = (name: string, type: string, input: object, fields = "__typename") => {
    const { world } = console();
    return world
      .as(world.owner)
      .graphql(`mutation($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, { input });
  };

  /** The background and the color of the text of an element. */
  const colorsOf = (element: Locator): Promise<string[]> =>
    element.evaluate((each) => {
      const style = each.ownerDocument.defaultView!.getComputedStyle(each);
      return [style.backgroundColor, style.color];
    });

  it("provisioner keys, which are shown once and deleted, and daemons", async () => {
    const { world, asOwner, fill, secret, row, gone, offered, openAs } = console();
    await asOwner("/provisioners");
    await row("built-in", "Daemons").getByText("Idle").waitFor();
    await fill("Create a key", { Name: "rack", Tags: `{"rack":"3"}` }, "Create");
    expect(await secret()).to.have.length.above(20);
    await row("rack", "Keys").getByText("rack=3").waitFor();
    await fill("Delete rack", {}, "Delete");
    await gone("rack", "Keys");
    await openAs(await world.user("member"), "/provisioners");
    await row("built-in", "Daemons").waitFor();
    expect(await offered()).to.deep.equal([]);
  });

  it("provisioner keys with a former secret, which is ended", async () => {
    const { world, asOwner, fill, secret, row, button } = console();
    await asOwner("/provisioners");
    await fill("Create a key", { Name: "rotated" }, "Create");
    const first = await secret();
    const daemon = await serve(world.app, { key: first });
    await row("rotated", "Daemons").waitFor();
    await fill("Rotate rotated", { Overlap: "2 hours" }, "Rotate");
    const second = await secret();
    expect(second).to.not.equal(first);
    await row("rotated", "Keys").getByText("Ends in 2 hours").waitFor();
    expect(await button("Rotate rotated").count()).to.equal(0);
    await fill("End former secret rotated", {}, "End former secret");
    await button("Rotate rotated").waitFor();
    // The daemon had the former secret.
    await eventually(() => daemon.closed !== undefined, "the end of the daemon");
    const again = await serve(world.app, { key: second });
    again.socket.close();
  });

  it("jobs, which those who may not do it cannot cancel", async () => {
    const { world, asOwner, openAs, open, fill, text, row, heading, offered } = console();
    const document = echoDocument([], { tags: { nowhere: "1" } });
    const { createTemplate } = await change(
      "createTemplate",
      "CreateTemplateInput",
      { organization: "default", name: `waits-${newId().slice(-6)}`, document },
      "templateVersion { job { id } }",
    );
    const job = `/jobs/${createTemplate.templateVersion.job.id}`;
    const auditor = await world.user("sees-jobs");
    await world.grant(auditor, "auditor");
    await openAs(auditor, job);
    await text("No daemon takes jobs with these tags.");
    expect(await offered()).to.deep.equal([]);
    await asOwner(job);
    await text("Pending");
    await fill("Cancel", {}, "Cancel the job");
    await text("Canceled");
    await open("/jobs?status=CANCELED");
    await heading("Jobs");
    await row(/Canceled/)
      .first()
      .waitFor();
  });

  it("proxies, whose tokens are replaced", async () => {
    const { asOwner, fill, secret, row, gone } = console();
    await asOwner("/proxies");
    await fill("Create a proxy", { Name: "sydney" }, "Create");
    const first = await secret();
    await row("sydney").getByText("Unregistered").waitFor();
    // The server itself has neither a token nor an end.
    expect(await row("primary").getByRole("button").allInnerTexts()).to.deep.equal(["Edit"]);
    await fill("Edit primary", { "Display name": "Headquarters" }, "Save");
    await row("Headquarters primary").waitFor();
    await fill("New token sydney", {}, "New token");
    expect(await secret()).to.not.equal(first);
    await fill("Edit sydney", { "Display name": "Sydney" }, "Save");
    await row("Sydney").waitFor();
    await fill("Delete sydney", {}, "Delete");
    await gone("Sydney");
  });

  it("applications with secrets, which are disabled and deleted", async () => {
    const { page, asOwner, button, dialog, enter, submit, fill, secret, heading, text, row, notice } = console();
    await asOwner("/applications");
    await button("Create an application").click();
    await enter("Name", "Desk");
    await enter("Redirect URIs", "not a uri");
    await dialog().getByRole("button", { name: "Create" }).click();
    await dialog().locator("[aria-invalid]").waitFor();
    await enter("Redirect URIs", "https://desk.example.com/callback");
    await submit("Create");
    await heading("Desk");
    await text("https://desk.example.com/callback");
    await fill("Add a secret", {}, "Add");
    expect(await secret()).to.have.length.above(20);
    await row(/\*/, "Secrets")
      .getByRole("button", { name: /^Delete/ })
      .click();
    await submit("Delete");
    await text("No secret.");
    await button("Disable").click();
    await text("Disabled");
    await page.getByRole("button", { name: "Undo" }).click();
    await button("Disable").waitFor();
    await fill("Edit", { Name: "Desk display" }, "Save");
    await heading("Desk display");
    await fill("Delete Desk display", {}, "Delete");
    await heading("Applications");
    await fill("Open registration", {}, "Open registration");
    await notice("Applications can register themselves.");
    await page.getByRole("button", { name: "Undo" }).click();
    await button("Open registration").waitFor();
  });

  it("SCIM keys, and what they have changed", async () => {
    const { world, asOwner, fill, secret, row, gone } = console();
    await asOwner("/scim-keys");
    await fill("Create a key", { Name: "directory" }, "Create");
    const key = await secret();
    const response = await fetch(`${console().home}/scim/v2/Users`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/scim+json" },
      body: JSON.stringify({
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
        userName: "provisioned",
        emails: [{ value: "provisioned@example.com", primary: true }],
      }),
    });
    expect(response.status).to.equal(201);
    await world.user("unrelated");
    await console().button("Activity of directory").click();
    await row("provisioned", "Changes by directory").waitFor();
    expect(await row("unrelated", "Changes by directory").count()).to.equal(0);
    await fill("Edit directory", { Name: "renamed" }, "Save");
    await row("renamed", "SCIM keys").waitFor();
    await fill("Revoke renamed", {}, "Revoke");
    await gone("renamed", "SCIM keys");
  });

  it("failed requests of SCIM keys, with the reason", async () => {
    const { world, page, asOwner, fill, row, text } = console();
    const { id, secret } = await makeScimKey(world, { name: "entra" });
    const scim = new ScimClient(world.nobody, secret);
    await asOwner("/scim-keys");
    await console().button("Activity of entra").click();
    await text(/^No request has failed in 30 days/);
    await scim.find("/Users", "userName what 7");
    for (let nr = 0; nr < 25; nr++) await scim.get(`/Users/missing-${nr}`);
    const count = async () =>
      (await world.as(world.owner).graphql(`{ scimRequests(key: "${id}") { totalCount } }`)).scimRequests.totalCount;
    await eventually(async () => (await count()) === 26, "26 failed requests");
    await page.reload();
    const list = "Failed requests of entra";
    const newest = row(/GET .*Users\/missing-24 /, list);
    await newest.getByText("404", { exact: true }).waitFor();
    await newest.getByText("Resource not found or you do not have access to it.").waitFor();
    const pages = page.getByRole("navigation", { name: `Pages of ${list}` });
    await pages.getByText("25 of 26").waitFor();
    await pages.getByRole("button", { name: "Next" }).click();
    await row(/GET .*filter=userName what 7 400 Unexpected "what"/, list).waitFor();
    await pages.getByRole("button", { name: "Previous" }).click();
    await newest.waitFor();
    await fill("Revoke entra", {}, "Revoke");
    await page.getByRole("region", { name: list }).waitFor({ state: "detached" });
  });

  it("the appearance, with banners that all users see", async () => {
    const { page, asOwner, fill, row, button, dialog, enter, submit } = console();
    await asOwner("/appearance");
    await fill("Edit", { Name: "Larkspur" }, "Save");
    await page.getByRole("link", { name: "Larkspur" }).waitFor();
    await button("Add a banner").click();
    await enter("Message", "Maintenance at noon");
    await enter("Color", "red");
    await dialog().getByRole("button", { name: "Add", exact: true }).click();
    await dialog().locator(".field:has([aria-invalid]) .fault").waitFor();
    await enter("Color", "#a01010");
    await submit("Add");
    const banner = page.locator("p.banner", { hasText: "Maintenance at noon" });
    await banner.waitFor();
    expect(await colorsOf(banner)).to.deep.equal(["rgb(160, 16, 16)", "rgb(255, 255, 255)"]);
    await change("updateAppearance", "UpdateAppearanceInput", {
      announcementBanners: [{ message: "Maintenance at noon", enabled: true, backgroundColor: "#ffee88" }],
    });
    await page.reload();
    await banner.waitFor();
    expect(await colorsOf(banner)).to.deep.equal(["rgb(255, 238, 136)", "rgb(0, 0, 0)"]);
    await button("Hide Maintenance at noon").click();
    await banner.waitFor({ state: "detached" });
    await button("Remove Maintenance at noon").click();
    await row("Maintenance at noon").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await row("Maintenance at noon").waitFor();
    await change("updateAppearance", "UpdateAppearanceInput", { applicationName: "", announcementBanners: [] });
  });

  it("licenses, whose faults are next to the field, and the features", async () => {
    const { asOwner, button, dialog, enter, row } = console();
    await asOwner("/licenses");
    await row("User limit", "Features").waitFor();
    await button("Add a license").click();
    await enter("License", "not a license");
    await dialog().getByRole("button", { name: "Add", exact: true }).click();
    await dialog().locator(".fault, .alarm").first().waitFor();
  });

  it("licenses, the appearance, and deliveries to none who may not read or change them", async () => {
    const { world, page, openAs, open, text, offered } = console();
    await openAs(await world.user("no-licenses"), "/");
    await text("Workspace credits");
    for (const name of ["Licenses", "Appearance", "Deliveries", "Notifications", "Health"])
      expect(await page.getByRole("link", { name, exact: true }).count(), name).to.equal(0);
    for (const path of ["/licenses", "/deliveries"]) {
      await open(path);
      await text("You may not do this");
      expect(await offered(), path).to.deep.equal([]);
    }
    // Everyone may read the appearance: it is how the console looks.
    await open("/appearance");
    await text("Support links");
    expect(await offered()).to.deep.equal([]);
  });

  it("health, with the encryption keys", async () => {
    const { asOwner, text, row } = console();
    await asOwner("/health");
    await text("Ready");
    await row(/Encrypts/, "Encryption keys").waitFor();
  });

  it("what is degraded although the server is ready, and what failed", async () => {
    const { page, asOwner, open, text } = console();
    let state: object = { status: "ok", degraded: ["standby"] };
    await page.route("**/readyz", (route) => route.fulfill({ json: state }));
    await asOwner("/health");
    await text("Ready, but degraded: Standby");
    state = { status: "unavailable", failed: ["database"] };
    await open("/health");
    await text("Database");
  });

  it("settings of notifications: paused, sent as a test, and by other methods", async () => {
    const { page, asOwner, button, text, fill, notice, row } = console();
    await asOwner("/notification-settings");
    await button("Pause").click();
    await text("Notifications are paused");
    await page.getByRole("button", { name: "Undo" }).click();
    await button("Pause").waitFor();
    await fill("Change email", { Server: "mail.example.com", Sender: "steward@example.com" }, "Save");
    await text("mail.example.com:");
    await fill("Deliver by Custom Notification", { Method: "Email" }, "Save");
    await row("Custom Notification", "Templates").getByText("Email").waitFor();
    await button("Send a test").click();
    await notice(/under way|switched it off/);
  });

  it("settings of notifications to auditors, without the transports, which they may not read", async () => {
    const { world, openAs, page, text, offered } = console();
    const auditor = await world.user("reads-settings");
    await world.grant(auditor, "auditor");
    await openAs(auditor, "/");
    await page.getByRole("link", { name: "Notifications" }).click();
    await text("Custom Notification");
    expect(await page.getByRole("heading", { name: "Email" }).count()).to.equal(0);
    expect(await offered()).to.deep.equal([]);
    await change("updateNotificationSettings", "UpdateNotificationSettingsInput", { notifierPaused: true });
    try {
      await page.reload();
      await text("Notifications are paused");
    } finally {
      await change("updateNotificationSettings", "UpdateNotificationSettingsInput", { notifierPaused: false });
    }
  });

  it("deliveries that failed, which are sent again or discarded", async () => {
    const { world, asOwner, fill, row, button, notice } = console();
    const smtp = { host: "127.0.0.1", port: 9, from: "steward@example.com" };
    await change("updateNotificationTransports", "UpdateNotificationTransportsInput", { smtp });
    const byMail = { template: customTemplateId, method: "SMTP" };
    await change("updateNotificationTemplateMethod", "UpdateNotificationTemplateMethodInput", byMail);
    await change("sendCustomNotification", "SendCustomNotificationInput", { content: { title: "Late", message: "x" } });
    // An attempt that is under way, at a port where no server listens, stores its result no more.
    const failed = `update notification_messages set state = 'permanent_failure', finished_at = now(), lease_token = null
      where user_id = $1`;
    const settle = () => changeBesideJobs(world.app, failed, [world.owner.id]);
    await settle();
    await asOwner("/deliveries?state=PERMANENT_FAILURE");
    await row("Custom Notification").first().waitFor();
    await button("Retry Custom Notification").first().click();
    await notice("Under way again.");
    await settle();
    await console().page.reload();
    await button("Retry all that failed").click();
    await notice(/messages? under way again/);
    await settle();
    await console().page.reload();
    await fill("Discard all that failed", {}, "Discard all that failed");
    await console().text("No delivery matches.");
  });

  it("the audit log, filtered by the address and exported as CSV and JSON lines", async () => {
    const { world, page, asOwner, row, button, text, link, openAs, offered } = console();
    const group = await world.group(`=audited-${newId().slice(-6)}`.replace("=", "x"));
    await page.addInitScript("Object.defineProperty(window, 'showSaveFilePicker', { value: undefined })");
    await asOwner("/audit?resource=group&action=CREATE");
    const entry = row(group.name);
    await entry.getByText("Create").waitFor();
    await entry.locator("summary").click();
    await entry.getByText("Request ID").waitFor();
    await page.getByLabel("Action").selectOption({ label: "Delete" });
    await text("No event matches.");
    await page.getByLabel("Action").selectOption({ label: "Create" });
    await entry.waitFor();
    const saved = async (label: string) => {
      const [download] = await Promise.all([page.waitForEvent("download"), button(label).click()]);
      return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
    };
    const csv = await saved("Export CSV");
    expect(csv.name).to.equal("audit-log.csv");
    const [head, ...lines] = csv.text.trim().split("\n");
    expect(head).to.match(/^"id","time","action"/);
    expect(lines.some((line) => line.includes(`"${group.name}"`))).to.equal(true);
    const jsonl = await saved("Export JSON lines");
    const events = jsonl.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { resourceType: string; action: string });
    expect(events).to.have.length(lines.length);
    for (const event of events) expect(event).to.include({ resourceType: "group", action: "CREATE" });
    await link("owner").first().click();
    await console().heading("owner");
    // Those who may not read it can save none of it.
    await openAs(await world.user("curious"), "/audit");
    await text("You may not do this");
    expect(await offered()).to.deep.equal([]);
  });

  it("connections to workspaces", async () => {
    const { asOwner, text } = console();
    await asOwner("/connections?status=ongoing");
    await text("No connection matches.");
  });

  it("the caller's keys, which are created, renamed, and revoked", async () => {
    const { world, asOwner, fill, secret, row, gone, button, enter, dialog, submit } = console();
    await asOwner("/keys");
    const expiry = new Date(Date.now() + 60 * 86_400_000);
    const expiresAt = `${expiry.toISOString().slice(0, 10)}T12:00`;
    await button("Create a key").click();
    await enter("Name", "laptop");
    await enter("Expires", "On a date…");
    await enter("Date and time", expiresAt);
    await enter("Only what I choose", true);
    await dialog().getByText("Choose of People", { exact: true }).click();
    await enter("See who has an account.", true);
    await submit("Create");
    const token = await secret();
    // A date instead of a distance, since it is far away.
    const date = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" }).format(expiry);
    await row("laptop").getByText(date, { exact: true }).waitFor();
    expect((await world.as({ token }).graphql("{ me { id } }")).me.id).to.equal(world.owner.id);
    await row("laptop").getByText("user:read").waitFor();
    await fill("Rename laptop", { Name: "desktop" }, "Save");
    await row("desktop").waitFor();
    await fill("Revoke desktop", {}, "Revoke");
    await gone("desktop");
    expect(
      (
        await world
          .as({ token })
          .failure("{ me { id } }")
          .catch(() => ({ code: "UNAUTHENTICATED" }))
      ).code,
    ).to.equal("UNAUTHENTICATED");
  });

  it("the caller's secrets, whose values are never shown", async () => {
    const { page, asOwner, fill, row, gone, button, dialog, submit, enter } = console();
    await asOwner("/secrets");
    await button("Add a secret").click();
    await enter("Name", "token");
    await enter("Value", "a secret value");
    await enter("Environment variable", "1 BAD");
    await dialog().getByRole("button", { name: "Add", exact: true }).click();
    await dialog().locator("[aria-invalid]").waitFor();
    await enter("Environment variable", "TOKEN");
    await submit("Add");
    await row("token").getByText("TOKEN", { exact: true }).waitFor();
    await fill("Edit token", { Description: "For the registry" }, "Save");
    await row("For the registry").waitFor();
    expect(await page.content()).to.not.include("a secret value");
    await fill("Delete token", {}, "Delete");
    await gone("TOKEN");
  });

  it("the caller's preferences: profile, quiet hours, and notifications", async () => {
    const { world, page, openAs, fill, text, heading, button } = console();
    const person = await world.user("chooser");
    await openAs(person, "/preferences");
    await heading("Preferences");
    await fill("Change", { Time: "3:15", "Time zone": "Europe/Berlin" }, "Save");
    await text("03:15 (Europe/Berlin)");
    await button("Use the default").click();
    await text("The deployment");
    await fill("Edit profile", { Name: "Nova" }, "Save");
    await page.getByRole("button", { name: /^Account of .*Nova/ }).waitFor();
    const toggle = page.getByLabel(/^Custom Notification, Inbox/);
    // It is shown before the server has stored it.
    const stored = page.waitForResponse(
      (response) => response.request().postData()?.includes("mutation UpdatePreferences(") ?? false,
    );
    await Promise.all([stored, toggle.click()]);
    await page
      .getByRole("row", { name: /^Custom Notification/ })
      .getByText("Off")
      .first()
      .waitFor();
    await page.reload();
    await toggle.waitFor();
    expect(await toggle.isChecked()).to.equal(false);
    const query = `{ notificationPreferences { template { name } disabled disabledMethods } }`;
    expect((await world.as(person).graphql(query)).notificationPreferences, "of one method").to.deep.equal([
      { template: { name: "Custom Notification" }, disabled: false, disabledMethods: ["INBOX"] },
    ]);
  });

  it("the overview, with counts, charts for those who can read them, and what fails", async () => {
    const { world, page, asOwner, openAs, text, heading } = console();
    await asOwner("/");
    await heading("Hello, owner");
    for (const name of ["Users", "Workspaces", "Failed workspaces", "Tasks", "Undelivered"])
      await page
        .getByRole("main")
        .getByRole("link", { name: new RegExp(`^${name}`) })
        .first()
        .waitFor();
    await page.locator(".chart canvas").first().waitFor();
    await text("Recent changes");
    await openAs(await world.user("plain"), "/");
    await text("Workspace credits");
    expect(await page.getByText("Recent changes").count()).to.equal(0);
    expect(await page.getByText("Sign-ins a day").count()).to.equal(0);
  });

  it("charts in a browser under a POSIX locale", async () => {
    const { page, asOwner } = console();
    await page.addInitScript(`Object.defineProperty(Navigator.prototype, "language", { get: () => "en-US@posix" })`);
    await asOwner("/");
    await page.locator(".chart canvas").first().waitFor();
    expect(await page.locator(".chart > div:not(.hidden, .drawing)").count()).to.equal(0);
  });

  it("on the overview how many notifications wait, and how many were given up", async () => {
    const { world, asOwner, main, open } = console();
    const { pool } = world.app.services.database;
    const pause = (notifierPaused: boolean) =>
      change("updateNotificationSettings", "UpdateNotificationSettingsInput", { notifierPaused });
    const tile = (label: string) => main().getByRole("link", { name: new RegExp(`^${label}`) });
    await pause(true);
    try {
      // Attempts that are under way store their results no more.
      await pool.query("delete from account_notices");
      await changeBesideJobs(world.app, "delete from notification_messages");
      await asOwner("/");
      await tile("Undelivered").getByText("No notification waits or was given up").waitFor();
      await tile("Failed workspaces").getByText("No latest build failed").waitFor();
      for (const title of ["Given up", "Waiting"])
        await change("sendCustomNotification", "SendCustomNotificationInput", { content: { title, message: "x" } });
      await pool.query(`update notification_messages set state = 'permanent_failure', finished_at = now(), lease_token = null
        where id = (select min(id::text)::uuid from notification_messages)`);
      // As one by email, which the pause stops.
      const waiting = `update notification_messages set state = 'pending', method = 'smtp', finished_at = null,
        lease_token = null
        where state <> 'permanent_failure'`;
      await changeBesideJobs(world.app, waiting);
      // Owners are also told of other things that the tests before have done.
      const { rows } = await pool.query<{ state: string }>("select state from notification_messages");
      const countOf = (wanted: string) => rows.filter(({ state }) => state === wanted).length;
      expect([countOf("pending"), countOf("permanent_failure")]).to.not.include(0);
      await open("/");
      await tile("Undelivered")
        .getByText(`${countOf("permanent_failure")} given up, ${countOf("pending")} waiting`)
        .waitFor();
    } finally {
      await pause(false);
    }
  });

  it("the inbox and the linked accounts of a user who has none", async () => {
    const { world, openAs, open, text } = console();
    await openAs(await world.user("empty"), "/inbox");
    await text("Nothing here.");
    await open("/linked-accounts");
    await text("No provider is set up.");
    await open("/grants");
    await text("No application has access.");
  });
});

describe("the console shows licenses of a vendor", () => {
  const vendor = new Vendor();
  const console = consoleTests(trusting(vendor));

  it("which are added and deleted, with the features that they allow", async () => {
    const { asOwner, fill, row, gone, notice, text } = console();
    await asOwner("/licenses");
    await text("No license.");
    await row("Appearance", "Features").getByText("Off").waitFor();
    await fill("Add a license", { License: await vendor.license({ account_id: "larkspur" }) }, "Add");
    await notice("The license is added.");
    await row("larkspur", "Licenses").waitFor();
    await row("Appearance", "Features").getByText("On", { exact: true }).waitFor();
    await row("larkspur", "Licenses")
      .getByRole("button", { name: /^Delete/ })
      .click();
    await console().dialog().getByText("features that only this license allows").waitFor();
    await console().submit("Delete");
    await gone("larkspur", "Licenses");
    await row("Appearance", "Features").getByText("Off").waitFor();
  });
});
