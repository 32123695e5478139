const width = 30;

/** Returns a function that shows progress: as a bar on a terminal, otherwise as one line per 10 percent. */
export function progressBar(output: NodeJS.WriteStream, unit: string): (done: number, total: number) => void {
  let shown = -1;
  let last = "";
  return (done, total) => {
    const share = total === 0 ? 1 : Math.min(1, done / total);
    // Nothing here is written by others; the bar itself moves the cursor.
    const text = `${Math.floor(share * 100)}%  ${done} of ${total} ${unit}`;
    if (output.isTTY) {
      if (text === last) return;
      last = text;
      const filled = Math.round(share * width);
      output.write(`\r[${"#".repeat(filled)}${".".repeat(width - filled)}] ${text}${share === 1 ? "\n" : ""}`);
    } else if (Math.floor(share * 10) > shown) {
      shown = Math.floor(share * 10);
      output.write(`${text}\n`);
    }
  };
}
