import { readFile, stat } from "node:fs/promises";
import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { CheckFailed, UsageError } from "../../src/runtime/command-line.js";

/** Maximum size of a file in bytes: that of a request. */
const largest = 1024 * 1024;

/** A fault in words, and where it is: -1 for what is in no file. */
export interface FaultText {
  offset: number;
  text: string;
}

/** A file with a JSON object, whose members are found by their paths. */
export class DocumentFile {
  private constructor(
    readonly path: string,
    readonly content: Record<string, unknown>,
    readonly text: string,
    readonly root: Node,
  ) {}

  /** Reads a file. Throws a `CheckFailed` with the position of every fault of its syntax, a `UsageError` without a file. */
  static async read(path: string): Promise<DocumentFile> {
    const text = await textOf(path);
    const faults: ParseError[] = [];
    const root = parseTree(text, faults, { disallowComments: true });
    const found = faults.map(({ error, offset }) => `${path}:${placeOf(text, offset)}: ${wordsOf(error)}.`);
    if (found.length === 0 && root?.type !== "object") found.push(`${path}:1:1: Must be a JSON object.`);
    if (found.length > 0) throw new CheckFailed(found.join("\n"));
    return new DocumentFile(path, JSON.parse(text) as Record<string, unknown>, text, root!);
  }

  /** Formats the fault of a member, with the line and column of it, or of the innermost object that should have it. */
  fault(member: string, detail: string): FaultText {
    const { offset } = nodeAt(this.root, member);
    return { offset, text: `${this.path}:${placeOf(this.text, offset)}: ${member ? `${member}: ` : ""}${detail}` };
  }
}

async function textOf(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > largest) throw new UsageError(`${path} has more than ${largest} bytes.`);
    // JSON has no byte order mark, but some editors write one.
    return (await readFile(path, "utf8")).replace(/^\ufeff/, "");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/** The line and column of an offset, both from 1. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `${before.length}:${before.at(-1)!.length + 1}`;
}

/** `InvalidCommentToken` → `Invalid comment token`. */
const wordsOf = (code: number): string => {
  const [first = "", ...others] = printParseErrorCode(code).split(/(?=[A-Z])/);
  return [first, ...others.map((word) => word.toLowerCase())].join(" ");
};

/** The node of a member such as `resources[0].agents`; of what is missing, the innermost node that exists. */
function nodeAt(node: Node, member: string): Node {
  if (member === "") return node;
  if (node.type === "array") {
    const [whole = "", index] = /^\[(\d+)\]\.?/.exec(member) ?? [];
    const element = index === undefined ? undefined : node.children?.[Number(index)];
    return element ? nodeAt(element, member.slice(whole.length)) : node;
  }
  // Names may have dots and brackets: the longest one that fits counts, and the last of repeated ones.
  const fitting = (node.children ?? [])
    .map(({ children }) => ({ key: String(children![0]!.value), value: children![1] }))
    .filter(
      ({ key, value }) => value && (member === key || /^[.[]/.test(member.slice(key.length))) && member.startsWith(key),
    )
    .sort((a, b) => a.key.length - b.key.length);
  const last = fitting.at(-1);
  return last ? nodeAt(last.value!, member.slice(last.key.length).replace(/^\./, "")) : node;
}
