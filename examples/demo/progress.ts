import type { Report } from "./fill.js";

/** Milliseconds after which it says again what goes on. */
const pause = 2_000;

export interface Progress {
  report: Report;
  /** Ends the output, and the timer. */
  end: () => void;
}

/** Shows what is done: one line per step on a terminal, otherwise a line at least every two seconds. */
export function showProgress(out: NodeJS.WriteStream = process.stderr): Progress {
  const began = Date.now();
  let current = "";
  let isOpen = false;
  let last = Date.now();
  const write = (text: string) => {
    last = Date.now();
    out.write(text);
  };
  const say = () => {
    const seconds = `${Math.round((Date.now() - began) / 1_000)} s`;
    if (out.isTTY) write(`\r${current}  (${seconds})  `);
    else write(`${current}  (${seconds})\n`);
  };
  const timer = setInterval(() => {
    if (current && Date.now() - last >= pause - 50) say();
  }, pause / 4);
  return {
    report: (what, done, total) => {
      const isDone = done === total;
      current = isDone ? "" : `${what.padEnd(18)}${done} of ${total}`;
      isOpen = !isDone;
      if (out.isTTY)
        write(`\r${what.padEnd(18)}${isDone ? `${total}`.padEnd(30) : `${done} of ${total}`}${isDone ? "\n" : ""}`);
      else if (isDone) write(`${what.padEnd(18)}${total}\n`);
    },
    end: () => {
      clearInterval(timer);
      if (isOpen && out.isTTY) out.write("\n");
    },
  };
}
