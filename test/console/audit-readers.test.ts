// Who receives the audit log, in the console.
import { readAuditStream } from "../support/audit-stream.js";
import { consoleTests } from "../support/console.js";

describe("the readers of the audit log in the console", () => {
  const console = consoleTests();

  it("are shown with what they receive, until they are gone", async () => {
    const { world: w, asOwner, row, page, text, link } = console();
    await asOwner("/audit/readers");
    await text("No program receives the audit log.");
    const auditor = await w.user("collector");
    await w.grant(auditor, "auditor");
    const headers = { "User-Agent": "collector/1" };
    const reader = await readAuditStream(w.url, auditor.token, { query: "?resource_type=group", headers });
    await asOwner("/audit");
    await link("Readers").click();
    const shown = row(/collector\/1/);
    for (const part of ["Connected", "Resource type: group", auditor.username, "127.0.0.1"])
      await shown.getByText(part).first().waitFor();
    reader.close();
    // The page looks again while a reader is connected.
    await shown.getByText("Disconnected").waitFor();
    await page.getByLabel("State").selectOption("Connected");
    await text("No program receives the audit log.");
  });
});
