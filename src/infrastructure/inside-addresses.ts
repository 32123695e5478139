import ipaddr from "ipaddr.js";
import type { Cidr } from "../runtime/config.js";

/** Rules for calls into the operator's own networks. */
export interface InsideRules {
  /** Whether loopback addresses may be called. */
  allowsLoopback: boolean;
  /** If not empty, the only networks that may be called. */
  only: readonly Cidr[];
}

/** Address ranges in which servers run: public, private, and shared (carrier-grade NAT). */
const serving = new Set(["unicast", "private", "carrierGradeNat", "uniqueLocal"]);

/** Metadata services of clouds within those ranges. The usual address is link-local, and thus excluded anyway. */
const metadata = new Set(["100.100.100.200", "168.63.129.16", "fd00:ec2::254"]);

const globalUnicast = ipaddr.parseCIDR("2000::/3");
const uniqueLocal = ipaddr.parseCIDR("fc00::/7");

/** Reports whether an address may be called under the rules. IPv4-mapped IPv6 addresses are treated as IPv4. */
export function mayCallInside(address: string, { allowsLoopback, only }: InsideRules): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  const kind = parsed.kind();
  if (only.length > 0 && !only.some(([network, bits]) => network.kind() === kind && parsed.match([network, bits])))
    return false;
  if (parsed.range() === "loopback") return allowsLoopback;
  const isKnown = kind === "ipv4" || parsed.match(globalUnicast) || parsed.match(uniqueLocal);
  return isKnown && serving.has(parsed.range()) && !metadata.has(parsed.toString());
}
