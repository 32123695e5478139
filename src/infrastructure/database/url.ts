// Reads the connection URL of the database, for every connection of the program: the format and the parameters of libpq
// (PostgreSQL manual, 32.1.1.2 Connection URIs and 32.1.2 Parameter Key Words).
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { type ConnectionOptions, getCACertificates } from "node:tls";

/** One way to reach the database. */
export interface Endpoint {
  /** Hostname, IP address, or the directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  /** Options of TLS, or false for a connection in clear text. */
  readonly ssl: ConnectionOptions | false;
}

/** The parts of a connection URL. */
export interface DatabaseUrl {
  /** To be tried in this order. */
  readonly endpoints: readonly Endpoint[];
  readonly user: string;
  readonly password?: string;
  readonly database: string;
  /** Start TLS without asking the server first. */
  readonly isDirectTls: boolean;
  /** Whether a server that accepts no writes (a standby) counts as unreachable. */
  readonly mustBeWritable: boolean;
  /** Milliseconds for each endpoint. 0 is unlimited. */
  readonly connectTimeout?: number;
  /** Milliseconds without traffic until the connection is probed, or false. */
  readonly keepAlive?: number | false;
  readonly applicationName?: string;
  /** Command-line options for the server. */
  readonly options?: string;
}

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof sslModes)[number];

const oneOf = (...words: string[]) => new RegExp(`^(${words.join("|")})$`);
const seconds = /^\d{1,6}$/;
const any = /./s;

/**
 * The supported parameters, with their values. All others are faults, as in libpq: a parameter that is silently ignored
 * may be the one that protects the connection.
 */
const parameters: Record<string, RegExp> = {
  host: any,
  port: /^\d{1,5}(,\d{1,5})*$/,
  dbname: any,
  user: any,
  password: any,
  sslmode: oneOf(...sslModes),
  ssl: oneOf("true"),
  sslrootcert: any,
  sslcert: any,
  sslkey: any,
  sslpassword: any,
  sslcrl: any,
  sslnegotiation: oneOf("postgres", "direct"),
  target_session_attrs: oneOf("any", "read-write", "primary"),
  connect_timeout: seconds,
  keepalives: oneOf("0", "1"),
  keepalives_idle: seconds,
  application_name: any,
  fallback_application_name: any,
  options: any,
  // Accepted with values that change nothing.
  load_balance_hosts: oneOf("disable"),
  channel_binding: oneOf("disable", "prefer"),
  client_encoding: oneOf("utf8", "UTF8", "utf-8", "UTF-8", "auto"),
  gssencmode: oneOf("disable", "prefer"),
  uselibpqcompat: oneOf("true"),
};

/** Environment variables of libpq that stand in for parameters. */
const variables: Record<string, string> = {
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
};

/** Reads a connection URL, and the files that it names. Each fault completes a sentence after the name of the URL. */
export function readDatabaseUrl(text: string, env = process.env): { faults: string[]; url?: DatabaseUrl } {
  const form = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text);
  if (!form) return { faults: ["must be a URL that starts with postgres://"] };
  const [, credentials = "", authority = "", path = "", query = ""] = form;
  const faults: string[] = [];

  const decode = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      faults.push("must be percent-encoded correctly");
      return "";
    }
  };
  const values = new Map<string, string>();
  for (const pair of query.split("&").filter(Boolean)) {
    const [name, value] = [pair.split("=", 1)[0]!, pair.slice(pair.indexOf("=") + 1)].map(decode) as [string, string];
    if (!Object.hasOwn(parameters, name)) faults.push(`must not have the parameter ${name}, which is not supported`);
    else if (value !== "" && !parameters[name]!.test(value)) faults.push(`has an invalid value of ${name}`);
    else if (values.has(name)) faults.push(`must have the parameter ${name} only once`);
    else values.set(name, value);
  }
  const parameter = (name: string) => values.get(name) || env[variables[name] ?? ""] || undefined;
  const file = (name: string): string | undefined => {
    const given = parameter(name);
    if (given === undefined) return undefined;
    try {
      return readFileSync(given, "utf8");
    } catch (error) {
      faults.push(`must have the path of a readable file as ${name} (${(error as NodeJS.ErrnoException).code})`);
      return undefined;
    }
  };

  const [, name = "", colon, secret = ""] = /^([^:]*)(:?)(.*)$/s.exec(credentials)!;
  const user = parameter("user") ?? (decode(name) || env.PGUSER || env.USER || "postgres");
  const password = parameter("password") ?? (colon ? decode(secret) : undefined);
  const database = parameter("dbname") ?? (decode(path) || user);
  const tls = readTls(parameter, file, faults);
  const hosts = readHosts(parameter("host") ?? decode(authority.replace(/:\d+(?=,|$)/g, "")), faults);
  const ports = readPorts(parameter("port") ?? portsOf(authority), hosts.length, faults);
  const timeout = parameter("connect_timeout");
  const idle = parameter("keepalives_idle");
  if (faults.length > 0) return { faults };
  return {
    faults,
    url: {
      endpoints: hosts.flatMap((host, index) => tls(host).map((ssl) => ({ host, port: ports[index]!, ssl }))),
      user,
      password,
      database,
      isDirectTls: parameter("sslnegotiation") === "direct",
      mustBeWritable: parameter("target_session_attrs") !== "any",
      connectTimeout: timeout === undefined ? undefined : Number(timeout) * 1000,
      keepAlive: parameter("keepalives") === "0" ? false : idle === undefined ? undefined : Number(idle) * 1000,
      applicationName: parameter("application_name") ?? parameter("fallback_application_name"),
      options: parameter("options"),
    },
  };
}

/**
 * Returns the ways to speak to a host in the order in which they are tried: by TLS with these options, or in clear
 * text.
 */
function readTls(
  parameter: (name: string) => string | undefined,
  file: (name: string) => string | undefined,
  faults: string[],
): (host: string) => Array<ConnectionOptions | false> {
  const root = parameter("sslrootcert");
  // With a root certificate, the server is verified by default. The default of libpq can fall back to clear text.
  const mode = (parameter("sslmode") ?? (parameter("ssl") ? "require" : root ? "verify-full" : "prefer")) as SslMode;
  if (!sslModes.includes(mode)) faults.push("has an invalid value of sslmode");
  if (mode === "verify-ca" && !root) faults.push("must have the parameter sslrootcert if sslmode is verify-ca");
  if (root === "system" && mode !== "verify-full")
    faults.push("must have sslmode=verify-full if sslrootcert is system");
  const direct = parameter("sslnegotiation") === "direct";
  if (direct && ["disable", "allow", "prefer"].includes(mode))
    faults.push("must have sslmode=require or stricter if sslnegotiation is direct");
  const isVerified = mode.startsWith("verify") || (mode === "require" && root !== undefined);
  const options: ConnectionOptions = {
    ca: root === "system" ? getCACertificates("system") : file("sslrootcert"),
    cert: file("sslcert"),
    key: file("sslkey"),
    passphrase: parameter("sslpassword"),
    crl: file("sslcrl"),
    rejectUnauthorized: isVerified,
    ...(mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
  const withTls = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return (host) => {
    if (mode === "disable" || host.startsWith("/")) return [false];
    // Without a host, Node compares the certificate of an IP address with the name "localhost".
    const secure = { ...withTls, host };
    if (mode === "allow") return [false, secure];
    return mode === "prefer" ? [secure, false] : [secure];
  };
}

function readHosts(text: string, faults: string[]): string[] {
  const hosts = text.split(",").map((host) => host.replace(/^\[(.*)\]$/, "$1") || "localhost");
  if (!hosts.every((host) => host.startsWith("/") || isIP(host) || /^[^\s:[\]/@]+$/.test(host)))
    faults.push("must have valid hostnames");
  return hosts;
}

const portsOf = (authority: string): string =>
  authority
    .split(",")
    .map((host) => /:(\d+)$/.exec(host)?.[1] ?? "")
    .join();

function readPorts(text: string, hosts: number, faults: string[]): number[] {
  const ports = text.split(",").map((port) => (port === "" ? 5432 : Number(port)));
  if (!ports.every((port) => port >= 1 && port <= 65_535)) faults.push("must have ports from 1 to 65535");
  if (ports.length !== 1 && ports.length !== hosts) faults.push("must have one port for each host");
  return ports.length === 1 ? Array.from({ length: hosts }, () => ports[0]!) : ports;
}
