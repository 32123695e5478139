// Makes the picture of the console in README.md, of the demonstration: `npm run picture`.
import "reflect-metadata";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { launchBrowser } from "./support/browser.js";
import { DemoRun } from "./support/demo.js";
import { freePort } from "./support/ports.js";

const directory = join(await mkdtemp(join(tmpdir(), "steward-picture-")), "demo-data");
await chmod(dirname(directory), 0o755);
const [run, browser] = await Promise.all([DemoRun.start(directory, await freePort("127.0.0.1"), 14), launchBrowser()]);
try {
  const page = await browser.newPage({
    locale: "en-US",
    timezoneId: "Europe/Berlin",
    viewport: { width: 1280, height: 860 },
  });
  await page.goto(run.door());
  await page.goto(`${run.url()}/tasks`);
  await page.getByRole("link", { name: "Fix the flaky upload test" }).click();
  await page.getByRole("button", { name: "Allow" }).scrollIntoViewIfNeeded();
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: "docs/console.png" });
} finally {
  await browser.close();
  await run.stop();
  await rm(dirname(directory), { recursive: true, maxRetries: 5 });
}
