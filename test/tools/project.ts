// A project folder of a client developer, with the packages of this folder.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("node_modules", import.meta.url));
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The schema as it is published. */
export const schemaText = readFileSync(join(root, "schema.graphql"), "utf8");

export class Project {
  readonly #folder = mkdtempSync(join(tmpdir(), "steward-client-"));

  /** Creates a project with these files, by path, and the schema. */
  constructor(files: Record<string, string>) {
    symlinkSync(packages, join(this.#folder, "node_modules"));
    const all = { "package.json": '{ "type": "module" }', "schema.graphql": schemaText, ...files };
    for (const [path, text] of Object.entries(all)) this.write(path, text);
  }

  path = (path: string): string => join(this.#folder, path);

  write = (path: string, text: string): void => {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), text);
  };

  read = (path: string): string => readFileSync(this.path(path), "utf8");

  /** Loads a module of the project. */
  load = (path: string): Promise<unknown> => import(this.path(path)) as Promise<unknown>;

  /** Runs a program of a package in the project and returns its output; throws with the output if it fails. */
  run = (program: string, ...args: string[]): Promise<string> => this.#execute(join(packages, ".bin", program), args);

  /** Compiles the TypeScript files of the project, as strictly as possible except for the changed options. */
  compile = (changes: object = {}): Promise<string> => {
    const options = {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: "es2023",
      lib: ["es2024", "dom"],
      module: "nodenext",
      types: [],
      verbatimModuleSyntax: true,
      skipLibCheck: true,
      ...changes,
    };
    this.write("tsconfig.json", JSON.stringify({ compilerOptions: options }));
    return this.#execute(join(root, "node_modules/.bin/tsc"), ["-p", this.path("tsconfig.json")]);
  };

  remove = (): void => rmSync(this.#folder, { recursive: true, force: true });

  #execute = (program: string, args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      execFile(process.execPath, [program, ...args], { cwd: this.#folder }, (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`;
        if (error) reject(new Error(`${program} failed:\n${output}`));
        else resolve(output);
      });
    });
}

/** The program files of a Markdown document: blocks of TypeScript whose first line is a comment with their path. */
export const filesIn = (document: string): Record<string, string> =>
  Object.fromEntries(
    [...document.matchAll(/^```ts\n\/\/ (\S+)\n([^]*?)^```/gm)].map(([, path = "", text = ""]) => [path, text]),
  );
