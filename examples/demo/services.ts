// What the company has beside the server, on this machine: the receiver of its notifications, the Git service at which
// accounts are linked, the consoles of its boards, and the door through which the owner's browser enters.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Bytes of a request that are read. */
const mostBytes = 1024 ** 2;

export class Services {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  /** What the door hands out once: the cookies of a session by a secret path. */
  readonly #doors = new Map<string, { home: string; cookies: string[] }>();

  /** Listens on a port of this machine; 0 for a free one. */
  static async open(port: number): Promise<Services> {
    const services = new Services();
    services.#server.listen(port, "127.0.0.1");
    await once(services.#server, "listening");
    return services;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Returns an address that signs a browser in, once: cookies of a host are those of all its ports. */
  door(home: string, cookies: string[]): string {
    const secret = randomBytes(24).toString("base64url");
    this.#doors.set(secret, { home, cookies });
    return `http://localhost:${this.port}/open/${secret}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, body: unknown = {}, headers: Record<string, string | string[]> = {}) => {
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    // No web page, that has a name of its own point here or sends a form, is one of the programs of the demonstration.
    const { host = "" } = request.headers;
    if (!/^(127\.0\.0\.1|localhost):\d+$/.test(host)) return send(421);
    const body = await textOf(request).catch(() => undefined);
    if (body === undefined) return send(413);
    const [, first = "", second = ""] = request.url!.split("?")[0]!.split("/");
    switch (`${first}/${second}`) {
      case "git/device":
        return send(200, {
          device_code: randomBytes(12).toString("hex"),
          user_code: "LARK-SPUR",
          verification_uri: `${this.url}/git/enter`,
          interval: 1,
        });
      case "git/token":
        return send(200, { access_token: randomBytes(20).toString("hex"), token_type: "Bearer", scope: "repo" });
      case "git/user":
        return send(200, { id: 1, login: "larkspur", name: "Larkspur Robotics" });
      case "board/console":
        response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" });
        return void response.end(serialConsole);
      case "healthz-report/":
        return send(200, { errors: [], warnings: [] });
      case "hook/":
        // A message to the receiver of the old firmware, which is gone: it is shown as undelivered.
        return send(body.includes("Firmware 4.1") ? 410 : 200);
      default: {
        const door = first === "open" ? this.#doors.get(second) : undefined;
        if (!door) return send(404);
        this.#doors.delete(second);
        return send(303, {}, { Location: door.home, "Set-Cookie": door.cookies, "Cache-Control": "no-store" });
      }
    }
  }
}

/** What the console of a board shows. */
const serialConsole = `U-Boot 2026.07 (Larkspur LR-4, rack 3)
DRAM:  2 GiB
Loading the signed image 4.2.0 ... OK
Starting the kernel ...

[    0.412] imu: calibrated
[    0.981] motor-control: 6 axes ready
[    1.204] fleet: connected

lr4 login: _
`;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > mostBytes) throw new Error("Too long.");
  }
  return text;
}

/** The Git service as a provider of external accounts, for STEWARD_EXTERNAL_AUTH. */
export const gitProvider = (url: string): object => ({
  type: "custom",
  id: "git",
  client_id: "steward",
  client_secret: "larkspur",
  display_name: "Larkspur Git",
  auth_url: `${url}/git/authorize`,
  token_url: `${url}/git/token`,
  validate_url: `${url}/git/user`,
  device_code_url: `${url}/git/device`,
  device_flow: true,
  scopes: ["repo"],
});
