import ipaddr from "ipaddr.js";
import type { Cidr } from "../../config/config.js";

/** Which addresses of the operator's own networks may be called. */
export interface InsideRules {
  /** Whether this machine is among them. */
  loopback: boolean;
  /** If there are any, no others. */
  only: readonly Cidr[];
}

/** Kinds of addresses at which servers are: public ones, those of private networks, and those behind shared ones. */
const serving = new Set(["unicast", "private", "carrierGradeNat", "uniqueLocal"]);

/** What clouds tell their machines, in ranges that are otherwise like others. The usual address is link-local. */
const metadata = new Set(["100.100.100.200", "168.63.129.16", "fd00:ec2::254"]);

const [globalUnicast, uniqueLocal] = [ipaddr.parseCIDR("2000::/3"), ipaddr.parseCIDR("fc00::/7")];

/** Whether a server of the operator's may be called there. IPv6 spellings of IPv4 addresses count as those. */
export function mayCallInside(address: string, { loopback, only }: InsideRules): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  const kind = parsed.kind();
  if (only.length > 0 && !only.some(([network, bits]) => network.kind() === kind && parsed.match([network, bits])))
    return false;
  if (parsed.range() === "loopback") return loopback;
  const isKnown = kind === "ipv4" || parsed.match(globalUnicast) || parsed.match(uniqueLocal);
  return isKnown && serving.has(parsed.range()) && !metadata.has(parsed.toString());
}
