// The files that receive the output of scripts, beside the log of the agent.
import type { FileHandle } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type FilePlace, openToAppend, reasonOf } from "./home-files.js";

/** Bytes from which a file is emptied before a run, and which a run appends at most. */
const mostBytes = 4 * 1024 ** 2;

/** Where scripts write: paths are relative to the directory of the agent. */
export interface ScriptPlace extends FilePlace {
  directory: string;
}

/** Appends the output of one run of a script to its file, if it has one, up to a bound. */
export class ScriptFile {
  #written = 0;
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly file: FileHandle,
    private readonly fail: (error: Error) => void,
  ) {}

  /** Opens the file of a path; undefined if it cannot be written, which `note` learns, as it does of later failures. */
  static async open(path: string, place: ScriptPlace, note: (fault: string) => void): Promise<ScriptFile | undefined> {
    if (path === "") return undefined;
    const fail = (error: Error) => note(`The file ${path} of the output was not written: ${reasonOf(error)}.`);
    try {
      const target = path.startsWith("~/") ? join(place.home, path.slice(2)) : resolve(place.directory, path);
      const file = await openToAppend(target, place);
      if ((await file.stat()).size >= mostBytes) await file.truncate();
      return new ScriptFile(file, fail);
    } catch (error) {
      fail(error as Error);
      return undefined;
    }
  }

  add(chunk: Buffer): void {
    const kept = chunk.subarray(0, mostBytes - this.#written);
    if (kept.length === 0) return;
    this.#written += kept.length;
    this.#writing = this.#writing.then(() => this.file.appendFile(kept)).catch(this.fail);
  }

  /** Resolves when all was written. Later output is lost. */
  async close(): Promise<void> {
    this.#written = mostBytes;
    await this.#writing;
    await this.file.close();
  }
}
