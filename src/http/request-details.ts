import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";
import type { Cidr, Config } from "../runtime/config.js";
import type { RequestDetails } from "../domain/kernel/request.js";
import { cleanLabel } from "../runtime/text.js";
import { newId } from "../domain/kernel/ids.js";
import { unreadCredentialOf } from "./credentials.js";

const acceptableId = /^[A-Za-z0-9._-]{8,128}$/;

/** The caller's address, user agent and request id. Forwarding headers and foreign ids count only when a trusted proxy sends them. */
export function requestDetailsOf(
  request: IncomingMessage,
  { trustedProxies }: Pick<Config, "trustedProxies">,
): RequestDetails {
  const peer = request.socket.remoteAddress ?? "";
  const isTrusted = trustedProxies.length > 0 && isWithin(peer, trustedProxies);
  const agent = request.headers["user-agent"];
  const given = isTrusted ? request.headers["x-request-id"] : undefined;
  return {
    id: typeof given === "string" && acceptableId.test(given) ? given : newId(),
    ip: isTrusted ? lastUntrusted(request, peer, trustedProxies) : plain(peer),
    userAgent: agent === undefined ? undefined : cleanLabel(agent, 512),
    unreadCredential: unreadCredentialOf(request),
  };
}

/** The last hop of `X-Forwarded-For` that no trusted proxy stands for. */
function lastUntrusted(request: IncomingMessage, peer: string, proxies: readonly Cidr[]): string {
  const hops = String(request.headers["x-forwarded-for"] ?? "")
    .split(",")
    .map((hop) => hop.trim())
    .filter(ipaddr.isValid);
  return plain(hops.findLast((hop) => !isWithin(hop, proxies)) ?? hops[0] ?? peer);
}

/** Whether an address lies in one of the networks. */
export const isWithin = (address: string, networks: readonly Cidr[]): boolean =>
  ipaddr.isValid(address) &&
  networks.some(([network, bits]) => {
    const candidate = ipaddr.process(address);
    return candidate.kind() === network.kind() && candidate.match([network, bits]);
  });

/** This machine. */
export const loopback: readonly Cidr[] = [ipaddr.parseCIDR("127.0.0.0/8"), ipaddr.parseCIDR("::1/128")];

/** `::ffff:127.0.0.1` → `127.0.0.1`. */
export const plain = (address: string) => (address.startsWith("::ffff:") ? address.slice(7) : address);
