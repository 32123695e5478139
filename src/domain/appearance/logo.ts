import { createHash } from "node:crypto";
import { sql } from "kysely";
import { longestUrl } from "../../entities/lengths.js";
import type { Context } from "../kernel/context.js";
import { faultOf, icon, keywordsOf, meant, textBy } from "../kernel/values.js";

/** The most bytes of a file that is the logo. */
const largest = 128 * 1024;

interface Kind {
  /** Of the paths of files. */
  ending: string;
  /** How all files of the kind begin: bytes, as characters, by their positions. */
  begins: Record<number, string>;
}

/** The kinds of files by their media types. SVG is none of them: it can have scripts. */
const kinds: Record<string, Kind> = {
  "image/png": { ending: "png", begins: { 0: "\x89PNG\r\n\x1a\n" } },
  "image/jpeg": { ending: "jpg", begins: { 0: "\xff\xd8\xff" } },
  "image/webp": { ending: "webp", begins: { 0: "RIFF", 8: "WEBP" } },
};

const beginsAs = ({ begins }: Kind, content: Buffer): boolean => {
  const beginning = content.toString("latin1", 0, 16);
  return Object.entries(begins).every(([at, bytes]) => beginning.startsWith(bytes, Number(at)));
};

const beginsAsFile = /^data:image\/(png|jpeg|webp);base64,/;

/** The characters of the largest file as a data URL. */
const longest = "data:image/jpeg;base64,".length + 4 * Math.ceil(largest / 3);

const fileLimits = `a PNG, JPEG, or WebP file of at most ${largest / 1024} KiB as a data URL in base64`;

/** A file that is the logo, as the audit log has it. */
export interface LogoFile {
  sha256: string;
  mediaType: string;
  size: number;
}

const isDataUrl = (text: string): boolean => /^data:/i.test(text);

/** Reads the file in a data URL. Returns the rule that it breaks, if there is one. */
function readFile(url: string): Buffer | string {
  const beginning = beginsAsFile.exec(url)?.[0];
  if (beginning === undefined || url.length > longest) return `Must be ${fileLimits}.`;
  const text = url.slice(beginning.length);
  const content = Buffer.from(text, "base64");
  // The decoder skips what is no base64.
  if (content.toString("base64") !== text) return "Must be in base64 without white space, and end with its padding.";
  if (content.length > largest) return `Must be ${fileLimits}.`;
  const mediaType = mediaTypeOf(beginning);
  return beginsAs(kinds[mediaType]!, content)
    ? content
    : `Must be a file of the type that the data URL names: it does not begin as ${mediaType} does.`;
}

const mediaTypeOf = (url: string): string => url.slice("data:".length, url.indexOf(";"));

const ruleOf = (text: string): string | undefined => {
  if (!isDataUrl(text)) return faultOf(icon, text);
  const read = readFile(text);
  return typeof read === "string" ? read : undefined;
};

/** The logo, as administrators give it: the URL of one, or a file, which the server keeps. */
export const logo = meant(
  textBy(ruleOf, {
    maxLength: longest,
    pattern: `${keywordsOf(icon)["pattern"] as string}|${beginsAsFile.source.replaceAll(String.raw`\/`, "/")}`,
  }),
  { limits: `empty, a path on this server, an http or https URL of at most ${longestUrl} bytes, or ${fileLimits}` },
);

/** The paths of files, by their hashes, so that browsers may keep them for good. */
export const logoPath = "/logos/:file";

const pathOf = ({ sha256, mediaType }: LogoFile): string => `/logos/${sha256}.${kinds[mediaType]!.ending}`;

/** A logo as it is stored: its URL, and the file if the path of one is its URL. */
export interface StoredLogo {
  logoUrl: string;
  logoFile: LogoFile | null;
}

/** The URL of a logo. Files have the URL of the deployment, for clients that are elsewhere. */
export const logoUrlOf = ({ config }: Context, { logoUrl, logoFile }: StoredLogo): string =>
  logoFile ? `${config.accessUrl}${logoUrl}` : logoUrl;

/** Keeps the file if a valid logo is one, or if its URL is that of the kept file, and removes others. */
export async function storeLogo(ctx: Context, given: string): Promise<StoredLogo> {
  const logoFile = isDataUrl(given) ? await keep(ctx, given) : await findKept(ctx, given);
  await ctx.db
    .deleteFrom("logos")
    .where("sha256", "!=", logoFile?.sha256 ?? "")
    .execute();
  return { logoUrl: logoFile ? pathOf(logoFile) : given, logoFile };
}

async function keep(ctx: Context, url: string): Promise<LogoFile> {
  const content = readFile(url) as Buffer;
  const mediaType = mediaTypeOf(url);
  const sha256 = createHash("sha256").update(content).digest("hex");
  await ctx.db
    .insertInto("logos")
    .values({ sha256, mediaType, content })
    .onConflict((conflict) => conflict.column("sha256").doNothing())
    .execute();
  return { sha256, mediaType, size: content.length };
}

/** The hash in the path of a file, if the ending is that of its type as well. */
const hashIn = (file: string): string | undefined => /^([0-9a-f]{64})\.(png|jpg|webp)$/.exec(file)?.[1];

async function findKept({ db, config }: Context, url: string): Promise<LogoFile | null> {
  const path = url.startsWith(`${config.accessUrl}/`) ? url.slice(config.accessUrl.length) : url;
  const sha256 = path.startsWith("/logos/") ? hashIn(path.slice("/logos/".length)) : undefined;
  if (sha256 === undefined) return null;
  const kept = await db
    .selectFrom("logos")
    .select(["sha256", "mediaType", (eb) => sql<number>`length(${eb.ref("content")})`.as("size")])
    .where("sha256", "=", sha256)
    .executeTakeFirst();
  return kept && pathOf(kept) === path ? kept : null;
}

/** Reads a file by the last part of its path. Everyone may: sign-in pages show it. */
export async function readLogo(
  { db }: Context,
  file: string,
): Promise<{ mediaType: string; content: Buffer } | undefined> {
  const sha256 = hashIn(file);
  if (sha256 === undefined) return undefined;
  const found = await db
    .selectFrom("logos")
    .select(["mediaType", "content"])
    .where("sha256", "=", sha256)
    .executeTakeFirst();
  return found && file.endsWith(`.${kinds[found.mediaType]!.ending}`) ? found : undefined;
}
