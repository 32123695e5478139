// A real browser without a screen: the system's Chromium, or the one that npm has installed.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import packed from "@sparticuz/chromium";
import { type Browser, chromium, type Page } from "playwright-core";

const installed = "/usr/bin/chromium";
const manifest = new URL("../package.json", import.meta.resolve("@sparticuz/chromium"));
const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };

/** Starts Chromium. Where the system lacks libraries that it needs, they come from its package. */
export async function launchBrowser(): Promise<Browser> {
  const home = ownFolder();
  const executablePath = existsSync(installed) ? installed : await unpacked(home);
  const launch = (libraries = "") =>
    chromium.launch({
      executablePath,
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
      env: { PATH: process.env.PATH!, HOME: home, LD_LIBRARY_PATH: libraries },
    });
  return launch().catch(async (error: Error) => {
    if (!/error while loading shared libraries/.test(error.message)) throw error;
    const folder = unpackLibraries();
    const browser = await launch(join(folder, "lib"));
    browser.on("disconnected", () => rmSync(folder, { recursive: true, force: true }));
    return browser;
  });
}

/** A folder that lasts and that nobody else of this machine can write to: what is unpacked there is run. */
function ownFolder(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `steward-browser-of-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (statSync(folder).uid !== uid) throw new Error(`${folder} belongs to somebody else.`);
  return folder;
}

/** The executable of the package, unpacked once for all processes and runs. */
async function unpacked(home: string): Promise<string> {
  const folder = join(home, version);
  if (!existsSync(folder)) {
    const unfinished = mkdtempSync(join(home, "unfinished-"));
    await unpackIn(unfinished);
    try {
      renameSync(unfinished, folder);
    } catch {
      rmSync(unfinished, { recursive: true }); // Another process was faster.
    }
  }
  return join(folder, "chromium");
}

/** The package unpacks itself where temporary files go. */
async function unpackIn(folder: string): Promise<void> {
  const usual = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  try {
    await packed.executablePath();
  } finally {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
  }
}

function unpackLibraries(): string {
  const folder = mkdtempSync(join(tmpdir(), "steward-browser-"));
  const archive = new URL("../bin/al2023.tar.br", import.meta.resolve("@sparticuz/chromium"));
  execFileSync("tar", ["-x", "-C", folder], { input: brotliDecompressSync(readFileSync(fileURLToPath(archive))) });
  return folder;
}

/** What a page did that it should not have done. */
export interface Conduct {
  /** Addresses outside the server. */
  readonly strangers: string[];
  /** Messages of errors and warnings, violations of the content security policy among them. */
  readonly complaints: string[];
}

/** Notes what the page asks of others, and what it complains about. */
export function conductOf(page: Page, home: string): Conduct {
  const conduct: Conduct = { strangers: [], complaints: [] };
  const note = (url: string) => {
    const { protocol, host } = new URL(url);
    if (host !== new URL(home).host && protocol !== "blob:" && protocol !== "data:") conduct.strangers.push(url);
  };
  page.on("request", (request) => note(request.url()));
  page.on("websocket", (socket) => note(socket.url()));
  page.on("pageerror", (error) => conduct.complaints.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) conduct.complaints.push(message.text());
  });
  return conduct;
}
