// A real mail server that keeps the messages it receives.
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { eventually } from "./watchers.js";
import type { World } from "./world.js";

export interface Letter {
  from: string;
  to: string[];
  /** Everything that the client sent after DATA. */
  text: string;
}

export class Mailbox {
  readonly letters: Letter[] = [];
  /** While set, the server rejects every message. */
  refusal: { responseCode: number; message: string } | undefined;
  /** Milliseconds before each message is accepted. */
  delay = 0;
  /** Whether a message to an address is never responded to. */
  hangs: (to: string[]) => boolean = () => false;

  private constructor(private readonly server: SMTPServer) {}

  /** Listens on a free port of this machine. */
  static async open(options: SMTPServerOptions = {}): Promise<Mailbox> {
    const server = new SMTPServer({
      authOptional: true,
      closeTimeout: 100,
      disabledCommands: ["STARTTLS"],
      ...options,
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = [];
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => {
          const { refusal } = mailbox;
          if (refusal) return done(Object.assign(new Error(refusal.message), refusal));
          const from = envelope.mailFrom ? envelope.mailFrom.address : "";
          const to = envelope.rcptTo.map(({ address }) => address);
          mailbox.letters.push({ from, to, text: Buffer.concat(chunks).toString() });
          if (!mailbox.hangs(to)) setTimeout(done, mailbox.delay);
        });
      },
    });
    const mailbox = new Mailbox(server);
    // Clients may break a connection off, for example because they are killed.
    server.on("error", () => {});
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return mailbox;
  }

  get settings(): Record<string, string> {
    return {
      STEWARD_NOTIFICATIONS_SMTP_HOST: "127.0.0.1",
      STEWARD_NOTIFICATIONS_SMTP_PORT: String((this.server.server.address() as AddressInfo).port),
      STEWARD_NOTIFICATIONS_SMTP_FROM: "steward@example.com",
    };
  }

  to = (email: string): Letter[] => this.letters.filter(({ to }) => to.includes(email));

  /** Waits for the message number `count` to this address, and returns it. */
  async letter(email: string, count = 1): Promise<Letter> {
    await eventually(() => this.to(email).length >= count, `message ${count} to ${email}`, 15_000);
    return this.to(email)[count - 1]!;
  }

  close = (): Promise<void> => new Promise((resolve) => this.server.close(() => resolve()));
}

/** Extracts the passcode from a message, where it is on a line of its own. */
export function codeIn({ text }: Letter): string {
  const code = /^([0-9A-Z]{10})\r?$/m.exec(text)?.[1];
  if (!code) throw new Error(`No passcode in: ${text}`);
  return code;
}

/** The path of the link in a message that turns the mails of its template off. */
export function unsubscribePath({ app }: Pick<World, "app">, { text }: Letter): string {
  const [, url] = /^List-Unsubscribe: <([^>]+)>/im.exec(text.replaceAll(/\r?\n[ \t]+/g, " ")) ?? [];
  return url!.slice(app.services.config.accessUrl.length);
}
