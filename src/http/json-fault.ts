/** Longer texts are not searched: each step parses up to all of it. */
const searched = 64 * 1024;

/** Where a text that is no JSON goes wrong: how many characters of it could still begin some JSON. */
export function faultIn(text: string): number | undefined {
  if (text.length > searched) return undefined;
  let [fine, most] = [0, text.length];
  while (fine < most) {
    const middle = (fine + most + 1) >> 1;
    if (couldGoOn(text.slice(0, middle))) fine = middle;
    else most = middle - 1;
  }
  return fine;
}

/** Whether the parser minds at most the end. It names the place of a fault in some messages only. */
function couldGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    return message.startsWith("Unexpected end") || Number(/at position (\d+)/.exec(message)?.[1]) === text.length;
  }
}
