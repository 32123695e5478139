// Pictures, as files and as data URLs.
import { crc32, deflateSync } from "node:zlib";

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
};

/** A PNG of one color, 8 pixels wide and high. */
export function png(red: number, green: number, blue: number): Buffer {
  const row = Buffer.from([0, ...Array.from({ length: 8 }, () => [red, green, blue]).flat()]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", Buffer.concat([uint32(8), uint32(8), Buffer.from([8, 2, 0, 0, 0])])),
    chunk("IDAT", deflateSync(Buffer.concat(Array.from({ length: 8 }, () => row)))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Bytes that begin with a text of single bytes, filled up to a size. */
export const beginning = (text: string, size = 64): Buffer => {
  const bytes = Buffer.alloc(size, 7);
  bytes.write(text, "latin1");
  return bytes;
};

export const dataUrl = (type: string, content: Buffer): string => `data:${type};base64,${content.toString("base64")}`;
