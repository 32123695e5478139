// Sixteen jobs of an administrator, each begun at the overview, by mouse and keyboard as people do it. The table that
// this prints holds clicks, views, and seconds; a job that needs more clicks than it did fails.
import { expect } from "chai";
import { goodPassword } from "../support/accounts.js";
import { type Console, consoleTests, echoDocument, importedTemplate } from "../support/console.js";
import { newEmail } from "../support/invitations.js";

/** The effort in the browser: pressed buttons, links, and boxes, chosen options, and visited views. */
interface Effort {
  clicks: number;
  views: string[];
}

const jobs: ReadonlyArray<{
  name: string;
  /** Presses of the mouse and choices of options; fields that are typed into need none. */
  clicks: number;
  prepare?: (c: Console) => Promise<unknown>;
  run: (c: Console) => Promise<unknown>;
}> = [
  {
    name: "Invite a person with a group and a role",
    clicks: 6,
    prepare: ({ world }) => world.group("newcomers"),
    async run(c) {
      await go(c, "Invitations");
      const values = { Email: newEmail(), newcomers: true, Auditor: true };
      await c.fill("Invite a person", values, "Invite");
      await c.secret();
    },
  },
  {
    name: "Create an account with a password",
    clicks: 3,
    async run(c) {
      await go(c, "Users");
      const values = { Email: newEmail(), Username: "with-password", "First password": goodPassword };
      await c.fill("Create a user", values, "Create");
      await c.heading("with-password");
    },
  },
  {
    name: "Invite twenty people from a file",
    clicks: 4,
    async run(c) {
      await go(c, "Invitations");
      await c.button("Import").click();
      const rows = Array.from({ length: 20 }, () => `${newEmail()},auditor`);
      const buffer = Buffer.from(["email,roles", ...rows].join("\n"));
      await c.dialog().getByLabel("File").setInputFiles({ name: "people.csv", mimeType: "text/csv", buffer });
      await c.dialog().getByRole("button", { name: "Invite 20 people" }).click();
      await c.dialog().getByRole("button", { name: "Done" }).click();
    },
  },
  {
    name: "Put a person into a group",
    clicks: 5,
    prepare: async ({ world }) => [await world.group("analysts"), await world.user("grouped")],
    async run(c) {
      await openRow(c, "Users", /grouped/);
      await c.fill(/^Add .* to a group$/, { Group: "analysts" }, "Add");
      await c.main().getByRole("button", { name: "Remove from analysts" }).waitFor();
    },
  },
  {
    name: "Make a person an auditor of the deployment",
    clicks: 5,
    prepare: ({ world }) => world.user("promoted"),
    async run(c) {
      await openRow(c, "Users", /promoted/);
      await c.fill("Roles", { Auditor: true }, "Save");
      await c.text("Auditor");
    },
  },
  {
    name: "Suspend an account",
    clicks: 4,
    prepare: ({ world }) => world.user("suspended"),
    async run(c) {
      await openRow(c, "Users", /suspended/);
      await c.fill(/^Suspend/, {}, "Suspend");
      await c.text("Suspended");
    },
  },
  {
    name: "Give a person another password",
    clicks: 4,
    prepare: ({ world }) => world.user("forgetful"),
    async run(c) {
      await openRow(c, "Users", /forgetful/);
      await c.fill("Reset password", { "New password": goodPassword }, "Reset");
      await c.notice("The password is reset.");
    },
  },
  {
    name: "See what a person did",
    clicks: 2,
    prepare: ({ world }) => world.user("observed"),
    async run(c) {
      await openRow(c, "Users", /observed/);
      await c.main().getByRole("region", { name: "Actions of the user" }).waitFor();
    },
  },
  {
    name: "Create a group with a quota",
    clicks: 3,
    async run(c) {
      await go(c, "Groups");
      await c.fill("Create a group", { Name: "quota-group", "Quota of a member": "10" }, "Create");
      await c.heading("quota-group");
    },
  },
  {
    name: "Create a template",
    clicks: 3,
    async run(c) {
      await go(c, "Templates");
      const values = { Name: "begun", Document: JSON.stringify(echoDocument()) };
      await c.fill("Create a template", values, "Create");
      await c.heading("begun");
    },
  },
  {
    name: "Let a group use a template",
    clicks: 6,
    prepare: async ({ world }) => {
      await importedTemplate(world, "lent", echoDocument());
      await world.group("borrowers");
    },
    async run(c) {
      await openRow(c, "Templates", /lent/);
      await c.fill("Add a group", { Group: "borrowers", Role: "May use it" }, "Add");
      await c.row("borrowers", "Shared with").waitFor();
    },
  },
  {
    name: "Register an application with a secret",
    clicks: 6,
    async run(c) {
      await go(c, "Applications");
      const values = { Name: "Dashboard", "Redirect URIs": "https://dashboard.example.com/back" };
      await c.fill("Create an application", values, "Create");
      await c.heading("Dashboard");
      await c.fill("Add a secret", {}, "Add");
      await c.secret();
    },
  },
  {
    name: "Connect an identity provider by SCIM",
    clicks: 4,
    async run(c) {
      await go(c, "SCIM keys");
      await c.fill("Create a key", { Name: "directory" }, "Create");
      await c.secret();
    },
  },
  {
    name: "Give a program an account with a key",
    clicks: 7,
    async run(c) {
      await go(c, "Users");
      await c.fill("Create a user", { "A service account": true, Username: "robot", Email: newEmail() }, "Create");
      await c.heading("robot");
      await c.fill("Create a key", { Name: "deploy" }, "Create");
      await c.secret();
    },
  },
  {
    name: "Find who deleted a group",
    clicks: 3,
    async run(c) {
      await go(c, "Audit log");
      const { page } = c;
      await page.getByLabel("Action").selectOption({ label: "Delete" });
      await page.getByLabel("What").selectOption({ label: "Group" });
      await c.text("No event matches.");
    },
  },
  {
    name: "Announce maintenance to all",
    clicks: 4,
    async run(c) {
      await go(c, "Appearance");
      await c.fill("Add a banner", { Message: "Maintenance at noon" });
      await c.main().getByText("Maintenance at noon").first().waitFor();
    },
  },
];

/** Follows a link of the navigation. */
async function go(c: Console, section: string): Promise<void> {
  await c.page.getByRole("navigation").getByRole("link", { name: section, exact: true }).click();
  await c.heading(section);
}

/** Opens the page of an object from the list of its section. */
async function openRow(c: Console, section: string, name: RegExp): Promise<void> {
  await go(c, section);
  await c.row(name).getByRole("link").first().click();
  await c.heading(name);
}

describe("an administrator's sixteen jobs", () => {
  const opened = consoleTests();
  const table: string[] = [];

  for (const { name, clicks, prepare, run } of jobs)
    it(`${name[0]!.toLowerCase()}${name.slice(1)}`, async () => {
      const c = opened();
      await prepare?.(c);
      const effort: Effort = { clicks: 0, views: [] };
      await c.page.exposeFunction("notePress", () => effort.clicks++);
      await c.page.addInitScript(`
        addEventListener("pointerdown", () => void notePress(), true);
        addEventListener("change", ({ target }) => target instanceof HTMLSelectElement && void notePress(), true);
      `);
      await c.asOwner("/");
      await c.page.getByRole("navigation").getByRole("link", { name: "Audit log", exact: true }).waitFor();
      c.page.on("framenavigated", (frame) => effort.views.push(new URL(frame.url()).pathname));
      const start = performance.now();
      await run(c);
      const seconds = (performance.now() - start) / 1000;
      const views = new Set(effort.views).size;
      table.push(
        `${name.padEnd(44)} ${String(effort.clicks).padStart(6)} ${String(views).padStart(6)} ${seconds.toFixed(1).padStart(8)}`,
      );
      expect(effort.clicks, "clicks").to.be.at.least(1).and.at.most(clicks);
    });

  after(() => console.log([`${"Job".padEnd(44)} clicks  views  seconds`, ...table].join("\n")));
});
