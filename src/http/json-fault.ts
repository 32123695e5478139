/** The longest text that is searched, in characters: each step parses up to all of it. */
const searched = 32 * 1024;

/** The position of the fault in a text that is not JSON: the length of its longest prefix that could begin a JSON text. */
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

/** Whether a text is JSON or only ends too early. The parser gives the position of a fault in some messages only. */
function couldGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    return message.startsWith("Unexpected end") || Number(/at position (\d+)/.exec(message)?.[1]) === text.length;
  }
}
