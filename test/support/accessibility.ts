// What axe says about a page, and how wide it is.
import { readFileSync } from "node:fs";
import type { Result } from "axe-core";
import { expect } from "chai";
import type { Page } from "playwright-core";

const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rules of axe that a page violates; of `rules` only if there are some. */
export async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (rules?.length === 0) return [];
  // By the debugger, since the policy of the page forbids scripts of others.
  const session = await page.context().newCDPSession(page);
  const options = JSON.stringify(rules ? { runOnly: rules } : {});
  await session.send("Runtime.evaluate", { expression: `globalThis.axe || (() => { ${axe} })()` });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(${options}).then(({ violations }) => JSON.stringify(violations))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return (JSON.parse(result.value as string) as Result[]).map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`,
  );
}

/** Tables that are cut while their times are as long as times get. They become so within minutes. */
const cutTables = `(() => {
  const times = [...document.querySelectorAll(".table time")].map(({ firstChild }) => firstChild);
  const texts = times.map(({ data }) => data);
  for (const time of times) time.data = "58 minutes ago";
  const cut = [...document.querySelectorAll(".table")].filter((each) => each.scrollWidth > each.clientWidth);
  for (const [at, time] of times.entries()) time.data = texts[at];
  return cut.length;
})()`;

/** Fails if the page is wider than the screen, or a table is cut, now or once its times are longer. */
export async function expectFit(page: Page, what: string): Promise<void> {
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect(overflow, `${what} is too wide`).to.equal(0);
  expect(await page.evaluate(cutTables), `${what} has tables that are cut`).to.equal(0);
}

/** Pictures are written to the directory that the variable names. */
const pictures = process.env.STEWARD_TEST_PICTURES;

/** Expects that the page, with its dialog if there is one, fits and violates no rule, in light, in the dark, and at 360 pixels. */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  const before = page.viewportSize();
  for (const [name, scheme, width] of [
    ["in light", "light", 1280],
    ["in the dark", "dark", 1280],
    ["at 360 pixels", "light", 360],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    await expectFit(page, `${what} ${name}`);
    expect(await violationsOf(page), `${what} ${name}`).to.deep.equal([]);
    if (pictures)
      await page.screenshot({
        path: `${pictures}/${what.replaceAll(/\W+/g, "-")}-${scheme}-${width}.png`,
        fullPage: true,
      });
  }
  await page.emulateMedia({ colorScheme: "light" });
  if (before) await page.setViewportSize(before);
}
