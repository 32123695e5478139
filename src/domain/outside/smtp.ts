import { createTransport } from "nodemailer";
import type { Config } from "../../config/config.js";

/** A message to one person, in two forms that say the same. */
export interface Mail {
  /** Unique, and the same for every attempt to send it. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** Sends mail to people. */
export interface Mailer {
  /** Resolves once the mail server has taken the message over. */
  send(mail: Mail): Promise<void>;
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

/** How long the mail server may take to answer, and to take a message, in milliseconds. */
const patience = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };

/** Where TLS begins at once (RFC 8314). */
const implicitTlsPort = 465;

/** A mailer that hands messages to the configured mail server; `undefined` if there is none. */
export function createMailer(settings: SmtpSettings): Mailer | undefined {
  const { smtpHost: host, smtpPort: port, smtpFrom: from, smtpUsername: user, smtpPassword: pass } = settings;
  if (host === undefined || from === undefined) return undefined;
  const transport = createTransport({
    ...patience,
    host,
    port,
    name: settings.smtpHello,
    secure: settings.smtpForceTls || port === implicitTlsPort,
    // Nobody hears the password in clear: with one, there is TLS or no mail.
    requireTLS: settings.smtpRequireTls || user !== undefined,
    ...(user !== undefined && { auth: { user, pass } }),
    ...(settings.smtpCa !== undefined && { tls: { ca: settings.smtpCa } }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ id, to, ...content }) {
      await transport.sendMail({
        from,
        to: { name: "", address: to },
        messageId: `<${id}@${from.split("@")[1]}>`,
        headers: { "Auto-Submitted": "auto-generated" },
        ...content,
      });
    },
  };
}

/** Whether the mail server refuses the message for good (RFC 5321 §4.2.1): the address, or what it says. */
export function isRefusedForGood(error: unknown): boolean {
  const { responseCode = 0, command = "" } = error as { responseCode?: number; command?: string };
  return responseCode >= 500 && /^(RCPT TO|DATA)/.test(command);
}
