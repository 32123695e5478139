import { csrfCookie, csrfTokenOf } from "../../src/http/csrf.js";
import { sessionCookie } from "../../src/http/credentials.js";
import { type Browser, launchBrowser } from "../../test/support/browser.js";
import { ownerToken } from "../data.js";
import { judge, type Row } from "../report.js";
import type { Bench, Run } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";

const title = "first view of the console";

/** The cost of the first view of a browser with an empty cache. */
interface View {
  /** Milliseconds from the request to the first text, and until the page shows its content and responds to the keyboard. */
  painted: number;
  ready: number;
  requests: number;
  /** Compressed kilobytes of all responses, and of the scripts. */
  all: number;
  scripts: number;
}

async function view(browser: Browser, { origin }: URL): Promise<View> {
  const visit = await browser.newContext();
  const token = ownerToken();
  const cookies = { [sessionCookie]: token, [csrfCookie]: csrfTokenOf(token) };
  await visit.addCookies(Object.entries(cookies).map(([name, value]) => ({ name, value, url: origin })));
  const page = await visit.newPage();
  const session = await visit.newCDPSession(page);
  await session.send("Network.enable");
  const scripts = new Set<string>();
  const sizes = new Map<string, number>();
  session.on("Network.responseReceived", ({ requestId, type }) => type === "Script" && scripts.add(requestId));
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => sizes.set(requestId, encodedDataLength));
  await page.goto(origin);
  await page.getByRole("main").getByText("Sign-ins a day").first().waitFor();
  // In the script of the page: the next frame is drawn, and the tasks before it are done.
  const ready = await page.evaluate<number>(
    "new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))))",
  );
  const [first] = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint"));
  await page.waitForLoadState("networkidle");
  await visit.close();
  const sum = (kept: (id: string) => boolean) =>
    [...sizes].filter(([id]) => kept(id)).reduce((total, [, size]) => total + size, 0) / 1_000;
  return {
    painted: first!.startTime,
    ready,
    requests: sizes.size,
    all: sum(() => true),
    scripts: sum((id) => scripts.has(id)),
  };
}

async function measure(run: Run): Promise<Row[]> {
  await using server = await startSteward(run);
  const browser = await launchBrowser();
  try {
    // The first page also starts processes of the browser.
    await view(browser, server.url);
    const views: View[] = [];
    for (let nr = 1; nr <= run.rounds * 3; nr++) {
      run.progress(`${title}: ${nr} of ${run.rounds * 3}`);
      views.push(await view(browser, server.url));
    }
    const of = (name: keyof View) => median(views.map((each) => each[name]));
    const row = (what: string, cost: string, more: Partial<Row> = {}): Row => ({ bench: title, what, cost, ...more });
    return [
      row("script, compressed", `${of("scripts").toFixed(0)} kB`, judge(of("scripts"), { limit: 200, aim: 100 }, "kB")),
      row("all responses, compressed", `${of("all").toFixed(0)} kB`),
      row("requests", of("requests").toFixed(0)),
      row("until the first text", `${of("painted").toFixed(0)} ms`),
      row("until it responds", `${of("ready").toFixed(0)} ms`, judge(of("ready"), { limit: 1_000, aim: 500 }, "ms")),
    ];
  } finally {
    await browser.close();
  }
}

export const consoleBench: Bench = {
  name: "console",
  measure,
  method: "The overview, as the owner sees it, in Chromium with an empty cache: medians.",
};
