import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { isRefusedForGood, type Mail } from "../outside/smtp.js";

/** A one-time passcode for a password reset, and its recipient. */
export interface PasscodeMessage {
  email: string;
  username: string;
  code: string;
  /** The lifetime in milliseconds. */
  lifetime: number;
}

/** The first and the longest delay before a retry, in milliseconds. Delays double. */
const firstPause = 5_000;
const longestPause = 60_000;

/**
 * Sends a passcode by mail. Retries until the mail server accepts or permanently rejects it, or `isValid` returns
 * false. The inbox is unsuitable, since only signed-in users can read it. The signal ends the retries.
 */
export async function deliverPasscode(
  { mailer, log }: Services,
  message: PasscodeMessage,
  isValid: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  if (!mailer) return log.warn("A one-time passcode was requested, but no mail server is configured.");
  const mail = mailOf(message);
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    try {
      return await mailer.send(mail);
    } catch (error) {
      log.warn({ err: error, messageId: mail.id }, "A one-time passcode could not be sent.");
      if (isRefusedForGood(error)) return;
    }
    await sleep(pause, undefined, { signal });
    if (!(await isValid())) return log.warn({ messageId: mail.id }, "A one-time passcode expired before it was sent.");
  }
}

/** Returns the mail, with the code on a line of its own. Usernames need no escaping: letters, digits and hyphens. */
function mailOf({ email, username, code, lifetime }: PasscodeMessage): Mail {
  const ends = `It can be used once, within ${Math.round(lifetime / 60_000)} minutes.`;
  const ignore = "If you did not request it, ignore this message: your password remains unchanged.";
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
