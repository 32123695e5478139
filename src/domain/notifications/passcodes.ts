import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { isRefusedForGood, type Mail } from "../outside/smtp.js";

/** The code with which somebody gets a new password. */
export interface PasscodeMessage {
  email: string;
  username: string;
  code: string;
  /** For how long it is valid, in milliseconds. */
  lifetime: number;
}

/** Milliseconds before a mail that did not go out is tried again: at first, and at most. */
const firstPause = 5_000;
const longestPause = 60_000;

/**
 * Sends a passcode by mail, and tries until the mail server takes it or `isValid` says no more. It goes nowhere else:
 * whoever can read an inbox is signed in already. The signal ends the waits.
 */
export async function deliverPasscode(
  { mailer, log }: Services,
  message: PasscodeMessage,
  isValid: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  if (!mailer) return log.warn("A one-time passcode was asked for, but there is no mail server to send it by.");
  const mail = mailOf(message);
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      return await mailer.send(mail);
    } catch (error) {
      log.warn({ err: error, messageId: mail.id }, "A one-time passcode could not be sent.");
      if (isRefusedForGood(error)) return;
    }
    await sleep(pause, undefined, { signal });
    if (!(await isValid())) return log.warn({ messageId: mail.id }, "A one-time passcode ended before it was sent.");
  }
}

/** The code stands on a line of its own. Nothing in it needs escaping: names have letters, digits and hyphens. */
function mailOf({ email, username, code, lifetime }: PasscodeMessage): Mail {
  const ends = `It can be used once, within ${Math.round(lifetime / 60_000)} minutes.`;
  const ignore = "If you did not ask for it, ignore this message: your password stays as it is.";
  return {
    id: newId(),
    to: email,
    subject: "Your one-time passcode",
    text: `Hello ${username},\n\nthis is the passcode with which you choose a new password:\n\n    ${code}\n\n${ends}\n${ignore}\n`,
    html: [
      `<p>Hello ${username},</p>`,
      `<p>this is the passcode with which you choose a new password:</p>`,
      `<p style="font: bold 1.5em monospace; letter-spacing: .1em">${code}</p>`,
      `<p>${ends}<br>${ignore}</p>`,
    ].join("\n"),
  };
}
