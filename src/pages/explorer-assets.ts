import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { version } from "../program-files.js";
import { TransportError } from "../http/responses.js";
import { send, type Http } from "../http/exchange.js";
import { colors, fingerprint, pageFile } from "./layout.js";

type Load = () => Promise<string>;

/** A part of GraphiQL, as its package exports it. Loaded at the first request, because of its size. */
const graphiqlPart =
  (name: "js" | "css" | "editorWorkerService" | "jsonWorker" | "graphqlWorker"): Load =>
  async () => {
    const bundle = new URL("./graphiql.js", import.meta.resolve("@graphql-yoga/render-graphiql"));
    return ((await import(bundle.href)) as Record<typeof name, string>)[name];
  };

const swaggerPart =
  (file: string): Load =>
  () =>
    readFile(new URL(file, import.meta.resolve("swagger-ui-dist/package.json")), "utf8");

const ownFiles: Record<string, string> = {
  "explorer.css": colors + pageFile("explorer.css"),
  "start-graphiql.js": pageFile("start-graphiql.js"),
  "start-docs.js": pageFile("start-docs.js"),
};

const assets: Record<string, Load> = {
  "graphiql.js": graphiqlPart("js"),
  "graphiql.css": graphiqlPart("css"),
  "editor-worker.js": graphiqlPart("editorWorkerService"),
  "json-worker.js": graphiqlPart("jsonWorker"),
  "graphql-worker.js": graphiqlPart("graphqlWorker"),
  "swagger-ui.css": swaggerPart("swagger-ui.css"),
  "swagger-ui-bundle.js": swaggerPart("swagger-ui-bundle.js"),
  ...Object.fromEntries(Object.entries(ownFiles).map(([file, text]) => [file, () => Promise.resolve(text)])),
};

/** Changes with the version and with each of our own files, so that browsers do not use cached files of another version. */
export const assetPath = `/assets/${fingerprint(version, ...Object.values(ownFiles))}/`;

const types: Record<string, string> = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

const compress = promisify(gzip);
const compressed = new Map<string, Promise<Buffer>>();

/** Sends a file that browsers may cache for good: its path changes with its content. */
export async function sendAsset(http: Http, file: string): Promise<void> {
  const load = Object.hasOwn(assets, file) ? assets[file] : undefined;
  if (!load) throw new TransportError(404, "Route not found.");
  if (!compressed.has(file))
    compressed.set(
      file,
      load().then((text) => compress(text)),
    );
  const headers = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Encoding": "gzip",
    "Content-Type": types[file.split(".").at(-1)!]!,
  };
  send(http, { status: 200, headers, body: (await compressed.get(file))! });
}
