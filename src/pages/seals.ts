import { createHmac, timingSafeEqual } from "node:crypto";

/** Marks what is left with browsers, so that what comes back is known to be ours. A mark counts for one purpose alone. */
export class Seals {
  constructor(private readonly key: Buffer) {}

  /** What only this deployment can say about a text. */
  mark = (purpose: string, text: string): string =>
    createHmac("sha256", this.key).update(`${purpose}\0${text}`).digest("base64url");

  /** Whether this is the mark, in a time that does not tell how much of it is right. */
  isMark(purpose: string, text: string, given: string): boolean {
    const [one, other] = [Buffer.from(this.mark(purpose, text)), Buffer.from(given)];
    return one.length === other.length && timingSafeEqual(one, other);
  }

  /** The text with its mark. It can be read by whoever holds it. */
  seal = (purpose: string, text: string): string => `${text}.${this.mark(purpose, text)}`;

  /** The text, if it was sealed for this purpose. */
  open(purpose: string, sealed: string | undefined): string | undefined {
    const [text = "", mark = ""] = sealed?.split(".") ?? [];
    return this.isMark(purpose, text, mark) ? text : undefined;
  }
}
