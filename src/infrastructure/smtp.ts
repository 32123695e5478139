import { createTransport } from "nodemailer";
import type { Config } from "../runtime/config.js";

/** A message to one recipient, as equivalent plain text and HTML. */
export interface Mail {
  /** The local part of the Message-ID; the same for every attempt to send the message. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Where the recipient unsubscribes with one click (RFC 8058). */
  unsubscribeUrl?: string;
}

export interface Mailer {
  /** Sends a message. Resolves once the mail server has accepted it; rejects when the signal is aborted. */
  send(mail: Mail, signal: AbortSignal): Promise<void>;
}

type SmtpSettings = Pick<
  Config,
  | "smtpHost"
  | "smtpPort"
  | "smtpFrom"
  | "smtpHello"
  | "smtpUsername"
  | "smtpPassword"
  | "smtpForceTls"
  | "smtpRequireTls"
  | "smtpCa"
>;

/** Limits in milliseconds: to connect, to receive the greeting, and of inactivity. */
const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** The port of SMTP over implicit TLS (RFC 8314). */
const implicitTlsPort = 465;

/** Creates the client of the configured mail server; `undefined` if none is configured. */
export function createMailer(settings: SmtpSettings): Mailer | undefined {
  const { smtpHost: host, smtpPort: port, smtpFrom: from, smtpUsername: user, smtpPassword: pass } = settings;
  if (host === undefined || from === undefined) return undefined;
  const transport = createTransport({
    ...timeouts,
    host,
    port,
    name: settings.smtpHello,
    secure: settings.smtpForceTls || port === implicitTlsPort,
    // A password is never sent in plain text: with one, TLS is mandatory.
    requireTLS: settings.smtpRequireTls || user !== undefined,
    ...(user !== undefined && { auth: { user, pass } }),
    ...(settings.smtpCa !== undefined && { tls: { ca: settings.smtpCa } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ id, to, unsubscribeUrl, ...content }, signal) {
      const sent = transport.sendMail({
        from,
        to: { name: "", address: to },
        messageId: `<${id}@${from.split("@")[1]}>`,
        headers: { "Auto-Submitted": "auto-generated", ...(unsubscribeUrl && oneClick(unsubscribeUrl)) },
        ...content,
      });
      await unlessAborted(sent, signal);
    },
  };
}

const oneClick = (url: string) => ({
  "List-Unsubscribe": `<${url}>`,
  "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
});

/** Rejects when the signal is aborted. The connection ends later, by its own timeouts. */
async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  await Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Reports whether the mail server permanently rejected the recipient or the content (5yz, RFC 5321 §4.2.1). */
export function isRefusedForGood(error: unknown): boolean {
  const { responseCode = 0, command = "" } = error as { responseCode?: number; command?: string };
  return responseCode >= 500 && /^(RCPT TO|DATA)/.test(command);
}
