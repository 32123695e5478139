// A real receiver of webhooks that keeps what it receives.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { eventually } from "./watchers.js";

/** A request to the receiver, verified by its signature. */
export interface Received {
  /** The id of the message. */
  id: string;
  /** The status that the receiver sent. */
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into what was sent
  body: any;
}

/** A response with headers. */
interface Custom {
  status: number;
  headers: Record<string, string>;
}

export class Receiver {
  readonly requests: Received[] = [];
  /** Decides about the status of the response to the nth request, from 1, and to its body. */
  respond: (count: number, body: { title: string }) => number | Custom | "hang" = () => 204;
  /** Milliseconds before each response. */
  delay = 0;
  secret = `whsec_${Buffer.alloc(32, "receiver").toString("base64")}`;

  private constructor(private readonly server: Server) {}

  static async open(): Promise<Receiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const body = new Webhook(receiver.secret).verify(text, request.headers as Record<string, string>) as {
          title: string;
        };
        const answer = receiver.respond(receiver.requests.length + 1, body);
        const { status, headers } = typeof answer === "object" ? answer : { status: answer, headers: {} };
        const id = request.headers["webhook-id"] as string;
        receiver.requests.push({ id, body, status: status === "hang" ? 0 : status });
        if (status === "hang") return;
        setTimeout(() => response.writeHead(status, headers).end(), receiver.delay);
      });
    });
    const receiver = new Receiver(server);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get settings(): Record<string, string> {
    return {
      STEWARD_NOTIFICATIONS_METHOD: "webhook",
      STEWARD_NOTIFICATIONS_WEBHOOK_URL: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`,
      STEWARD_NOTIFICATIONS_WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, "older").toString("base64")},${this.secret}`,
    };
  }

  /** The ids of messages that the receiver accepted. */
  get accepted(): string[] {
    return this.requests.filter(({ status }) => status >= 200 && status < 300).map(({ id }) => id);
  }

  /** Waits until a number of different messages were accepted. */
  async acceptedMessages(count: number): Promise<Set<string>> {
    await eventually(() => new Set(this.accepted).size >= count, `${count} messages are accepted`, 30_000);
    return new Set(this.accepted);
  }

  close = (): Promise<void> =>
    new Promise((resolve) => {
      this.server.closeAllConnections();
      this.server.close(() => resolve());
    });
}
