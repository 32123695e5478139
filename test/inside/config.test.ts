// Looks inside: settings are a pure function of the environment; a process for each would take minutes.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { exposedFiles, listeningOn, readConfig, settingsManual, unknownSettings } from "../../src/config/config.js";
import { ConfigError } from "../../src/runtime/config.js";

const faultsOf = (env: Record<string, string>): readonly string[] => {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
};

describe("configuration", () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), "steward-config-"))));
  after(() => rmSync(folder, { recursive: true }));
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  it("accepts every duration that the message about an invalid one names, in any unit", () => {
    const durations = settingsManual().filter(({ rule }) => rule.includes("a duration"));
    expect(durations).to.have.length.greaterThan(30);
    for (const { name } of durations) {
      const [fault = ""] = faultsOf({ [name]: "soon" });
      expect(fault).to.match(/^\w+ must be .*a duration from \w+ to \w+, in ms, s, m, h or d, not "soon"\.$/);
      const named = fault.match(/\b\d+(?:ms|[smhd])\b/g) ?? [];
      const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
      expect(named, name).to.have.length(2);
      const isRejected = (value: string) =>
        faultsOf({ [name]: value }).some((each) => each.startsWith(`${name} must be`));
      for (const value of named) {
        const [, amount, unit] = /^(\d+)(ms|[smhd])$/.exec(value)!;
        const inMilliseconds = Number(amount) * units[unit as keyof typeof units];
        expect([value, `${inMilliseconds}ms`].filter(isRejected), name).to.deep.equal([]);
        if (value === named[1]) expect(isRejected(`${inMilliseconds + 1}ms`), name).to.equal(true);
      }
    }
  });

  it("takes schemes of applications, and none of systems and browsers", () => {
    for (const right of ["any", "dotted", "cursor, vscode", "com.example.app"])
      expect(faultsOf({ STEWARD_OAUTH2_REDIRECT_SCHEMES: right }), right).to.deep.equal([]);
    for (const wrong of ["javascript", "cursor,ms-word", "https", "any,x y", "x-apple.systempreferences", "cursor:"])
      expect(faultsOf({ STEWARD_OAUTH2_REDIRECT_SCHEMES: wrong }), wrong).to.have.length(1);
  });

  it("is read without white space around it, but for passwords and the secrets of others", () => {
    const pasted = {
      STEWARD_ADMIN_EMAIL: " Ada@example.com\n",
      STEWARD_METRICS_TOKEN_FILE: file("metrics-token", "\ufeff0123456789abcdef\r\n\r\n"),
      STEWARD_SESSION_DURATION: "\u00a01h ",
      STEWARD_ADMIN_PASSWORD: " a password of some length ",
      STEWARD_PORT: " ",
    };
    expect(readConfig(pasted)).to.include({
      adminEmail: "Ada@example.com",
      metricsToken: "0123456789abcdef",
      sessionDuration: 3_600_000,
      adminPassword: " a password of some length ",
      port: 3000,
    });
    const secret = { STEWARD_GITHUB_CLIENT_ID: "id ", STEWARD_GITHUB_CLIENT_SECRET: " secret " };
    expect(readConfig(secret)).to.include({ githubClientId: "id", githubClientSecret: " secret " });
  });

  it("has defaults for all settings that need one", () => {
    expect(readConfig({})).to.deep.include({
      host: "127.0.0.1",
      port: 3000,
      accessUrl: "http://localhost:3000",
      dataDir: "./data",
      databaseUrl: undefined,
      databasePool: 20,
      adminEmail: "admin@steward.local",
      adminUsername: "admin",
      adminPassword: undefined,
      defaultOrganization: "main",
      trustedProxies: [],
      corsOrigins: [],
      bodyLimit: 1048576,
      requestTimeout: 30_000,
      shutdownGrace: 20_000,
      auditRetention: 0,
      metricsAllow: [],
      metricsToken: undefined,
      graphqlIntrospection: true,
      logLevel: "info",
      logFormat: undefined,
      requestLog: 1,
      sessionDuration: 24 * 3_600_000,
      sessionMaxAge: 30 * 86_400_000,
      apiKeyDefaultLifetime: 90 * 86_400_000,
      apiKeyMaxLifetime: 365 * 86_400_000,
      adminWorkspaceAccess: false,
      passwordAuth: true,
      groupsMaxPerOrganization: 10000,
      aiBudgetCurrency: "USD",
    });
    expect(readConfig({}).hashConcurrency).to.be.at.least(1);
  });

  it("reads settings and treats empty ones as unset", () => {
    const config = readConfig({
      STEWARD_HOST: "0.0.0.0",
      STEWARD_PORT: "0",
      STEWARD_ACCESS_URL: "https://Steward.example.com:8443/",
      STEWARD_REQUEST_TIMEOUT: "5m",
      STEWARD_SESSION_DURATION: "2h",
      STEWARD_AUDIT_RETENTION: "7d",
      STEWARD_PASSWORD_AUTH: "F",
      STEWARD_CORS_ORIGINS: "https://a.example.com, http://localhost:5173",
      STEWARD_TRUSTED_PROXIES: "10.0.0.0/8,192.0.2.7,2001:db8::/32",
      STEWARD_BODY_LIMIT: "",
    });
    expect(config).to.deep.include({
      host: "0.0.0.0",
      port: 0,
      accessUrl: "https://steward.example.com:8443",
      requestTimeout: 300_000,
      sessionDuration: 7_200_000,
      auditRetention: 604_800_000,
      passwordAuth: false,
      corsOrigins: ["https://a.example.com", "http://localhost:5173"],
      bodyLimit: 1048576,
    });
    const networks = config.trustedProxies.map(([address, bits]) => `${address.toString()}/${bits}`);
    expect(networks).to.deep.equal(["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"]);
  });

  it("falls back to HOST, PORT, and DATABASE_URL", () => {
    const url = "postgres://steward@db/steward";
    expect(readConfig({ HOST: "::1", PORT: "8080", DATABASE_URL: url })).to.include({
      host: "::1",
      port: 8080,
      databaseUrl: url,
    });
    expect(readConfig({ PORT: "8080", STEWARD_PORT: "9090" })).to.include({
      port: 9090,
      accessUrl: "http://localhost:9090",
    });
    expect(faultsOf({ PORT: "http" })).to.deep.equal(['PORT must be a whole number from 0 to 65535, not "http".']);
  });

  it("derives the port and the access URL after listening", () => {
    expect(listeningOn(4711, readConfig({ PORT: "0" }))).to.include({ port: 4711, accessUrl: "http://localhost:4711" });
    expect(
      listeningOn(4711, readConfig({ PORT: "0", STEWARD_ACCESS_URL: "https://s.example.com" })).accessUrl,
    ).to.equal("https://s.example.com");
  });

  it("reads secrets from files", () => {
    const env = {
      STEWARD_ADMIN_PASSWORD_FILE: file("password", "correct horse\n"),
      STEWARD_DATABASE_URL_FILE: file("database", "postgresql://steward:secret@db/steward\r\n"),
    };
    expect(readConfig(env)).to.include({
      adminPassword: "correct horse",
      databaseUrl: "postgresql://steward:secret@db/steward",
    });
    expect(faultsOf({ ...env, STEWARD_ADMIN_PASSWORD: "another" })).to.deep.equal([
      "STEWARD_ADMIN_PASSWORD and STEWARD_ADMIN_PASSWORD_FILE are mutually exclusive.",
    ]);
    expect(faultsOf({ STEWARD_METRICS_TOKEN_FILE: join(folder, "nowhere") })).to.deep.equal([
      "STEWARD_METRICS_TOKEN_FILE must be the path of a readable file (ENOENT).",
    ]);
    expect(faultsOf({ STEWARD_METRICS_TOKEN_FILE: folder })).to.deep.equal([
      "STEWARD_METRICS_TOKEN_FILE must be the path of a readable file (EISDIR).",
    ]);
  });

  const wrong: Record<string, string[]> = {
    STEWARD_HOST: ["a b", "-x", "http://x"],
    STEWARD_PORT: ["65536", "-1", "1.5", "0x10"],
    STEWARD_ACCESS_URL: [
      "example.com",
      "ftp://example.com",
      "https://example.com/path",
      "https://a:b@example.com",
      "https://example.com?x",
      "http:example.com",
    ],
    STEWARD_DATABASE_URL: [
      "mysql://db",
      "db",
      "postgres://db/steward?sslmode=on",
      "postgres://db/steward?sslmode=verify-ca",
      "postgres://db/steward?sslmode=require&sslrootcert=system",
      "postgres://db/steward?sslnegotiation=direct",
      "postgres://db/steward?sslrootcert=/none/root.crt",
      "postgres://db/steward?target_session_attrs=standby",
      "postgres://db/steward?schema=steward",
      "postgres://db/steward?host=a&host=b",
      "postgres://db/steward?connect_timeout=soon",
      "postgres://a:1,b:2,c/steward?port=1,2",
      "postgres://db:70000/steward",
      "postgres://steward:50%@db/steward",
      "postgres://steward:a b@db c/steward",
    ],
    STEWARD_DATABASE_POOL: ["1", "many"],
    STEWARD_ADMIN_EMAIL: ["admin", "a b@c"],
    STEWARD_ADMIN_USERNAME: ["me", "a--b"],
    STEWARD_DEFAULT_ORGANIZATION: ["default", ""],
    STEWARD_TRUSTED_PROXIES: ["10.0.0.0/33", "10/8", "10.0.0.0/8/8", "10.0.0.0/", "x", "10.0.0.1,,10.0.0.2"],
    STEWARD_CORS_ORIGINS: ["*", "https://a.example.com/x"],
    STEWARD_BODY_LIMIT: ["1M", "0"],
    STEWARD_REQUEST_TIMEOUT: ["30", "30 s", "0s", "2h", "1w", "-5m"],
    STEWARD_AUDIT_RETENTION: ["90", "0d"],
    STEWARD_GRAPHQL_INTROSPECTION: ["yes"],
    STEWARD_LOG_LEVEL: ["loud"],
    STEWARD_AI_BUDGET_CURRENCY: ["US Dollar"],
  };
  for (const [name, values] of Object.entries(wrong))
    it(`rejects invalid values of ${name}`, () => {
      for (const value of values.filter(Boolean)) {
        const faults = faultsOf({ [name]: value });
        expect(faults, value).to.have.length(1);
        expect(faults[0]).to.match(new RegExp(`^${name} (must|has) `));
      }
    });

  it("reports all errors together and never prints a secret", () => {
    const faults = faultsOf({
      STEWARD_PORT: "none",
      STEWARD_LOG_FORMAT: "xml",
      STEWARD_DATABASE_URL: "hunter2-is-secret",
      STEWARD_SESSION_DURATION: "31d",
      STEWARD_API_KEY_MAX_LIFETIME: "1d",
    });
    expect(faults).to.deep.equal([
      'STEWARD_PORT must be a whole number from 0 to 65535, not "none".',
      "STEWARD_DATABASE_URL must be a URL that starts with postgres://.",
      'STEWARD_LOG_FORMAT must be one of json, text, not "xml".',
      "STEWARD_SESSION_DURATION must not be longer than STEWARD_SESSION_MAX_AGE.",
      "STEWARD_API_KEY_DEFAULT_LIFETIME must not be longer than STEWARD_API_KEY_MAX_LIFETIME.",
    ]);
    expect(new ConfigError(faults).message.split("\n")).to.have.length(6);
  });

  it("takes several servers, Unix sockets, and passwords with every character from the URL of the database", () => {
    for (const url of [
      "postgres://db",
      "postgresql://steward:a%40b%2Fc%3F%23@db:5433/steward",
      "postgres://steward:a:b@c@[::1]:5433,other,[fe80::1]/steward?target_session_attrs=primary",
      "postgres://%2Frun%2Fpostgresql/steward",
      "postgres:///steward?host=/run/postgresql,/tmp&port=1,2&sslmode=disable",
      "postgres://db/?sslmode=require&channel_binding=prefer&client_encoding=UTF8",
    ])
      expect(readConfig({ STEWARD_DATABASE_URL: url }).databaseUrl).to.equal(url);
  });

  it("reports all faults of the URL of the database, none with its password", () => {
    const url = "postgres://steward:hunter2@db:0/steward?sslmode=on&schema=steward&ssl=hunter2";
    expect(faultsOf({ STEWARD_DATABASE_URL: url })).to.deep.equal([
      "STEWARD_DATABASE_URL has an invalid value of sslmode.",
      "STEWARD_DATABASE_URL must not have the parameter schema, which is not supported.",
      "STEWARD_DATABASE_URL has an invalid value of ssl.",
      "STEWARD_DATABASE_URL must have ports from 1 to 65535.",
    ]);
  });

  it("requires related settings together", () => {
    expect(
      faultsOf({
        STEWARD_DATABASE_DIRECT_URL: "postgres://db/steward",
        STEWARD_DATABASE_READ_URL: "postgres://standby/steward",
        STEWARD_EVENTS_URL: "nats://nats",
        STEWARD_OIDC_ISSUER_URL: "https://id.example.com",
        STEWARD_GITHUB_CLIENT_ID: "steward",
        STEWARD_NOTIFICATIONS_SMTP_HOST: "mail.example.com",
        STEWARD_NOTIFICATIONS_SMTP_USERNAME: "steward",
      }),
    ).to.deep.equal([
      "STEWARD_DATABASE_URL is required if STEWARD_DATABASE_DIRECT_URL is set.",
      "STEWARD_DATABASE_URL is required if STEWARD_DATABASE_READ_URL is set.",
      "STEWARD_DATABASE_URL is required if STEWARD_EVENTS_URL is set.",
      "STEWARD_OIDC_CLIENT_ID is required if STEWARD_OIDC_ISSUER_URL is set.",
      "STEWARD_OIDC_CLIENT_SECRET is required if STEWARD_OIDC_ISSUER_URL is set.",
      "STEWARD_GITHUB_CLIENT_SECRET is required if STEWARD_GITHUB_CLIENT_ID is set.",
      "STEWARD_NOTIFICATIONS_SMTP_FROM is required if STEWARD_NOTIFICATIONS_SMTP_HOST is set.",
      "STEWARD_NOTIFICATIONS_SMTP_PASSWORD is required if STEWARD_NOTIFICATIONS_SMTP_USERNAME is set.",
    ]);
    for (const issuer of [
      "http://id.example.com",
      "ftp://id.example.com",
      "https://a:b@id.example.com",
      "https://x?y",
    ]) {
      const [fault] = faultsOf({ STEWARD_OIDC_ISSUER_URL: issuer });
      expect(fault, issuer).to.match(/^STEWARD_OIDC_ISSUER_URL must be an https URL/);
    }
    expect(faultsOf({ STEWARD_OIDC_EMAIL_DOMAINS: "example.com, @x" })).to.have.length(1);
    expect(faultsOf({ STEWARD_NOTIFICATIONS_SMTP_CA_FILE: "/nowhere" })).to.have.length(1);
  });

  it("lists unknown settings", () => {
    const env = {
      STEWARD_PROT: "1",
      STEWARD_PORT: "1",
      STEWARD_ADMIN_PASSWORD_FILE: "x",
      STEWARD_PORT_FILE: "x",
      PATH: "x",
    };
    expect(unknownSettings(env)).to.deep.equal(["STEWARD_PORT_FILE", "STEWARD_PROT"]);
  });

  it("lists secret files that other users of the machine can read", () => {
    const place = mkdtempSync(join(tmpdir(), "steward-config-"));
    try {
      const made = (mode: number) => {
        const path = join(place, mode.toString(8));
        writeFileSync(path, "secret");
        chmodSync(path, mode);
        return path;
      };
      const env = {
        STEWARD_ADMIN_PASSWORD_FILE: made(0o444),
        STEWARD_DATABASE_URL_FILE: made(0o440),
        STEWARD_METRICS_TOKEN_FILE: made(0o400),
        STEWARD_ENCRYPTION_KEYS_FILE: made(0o604),
        STEWARD_OIDC_CLIENT_SECRET_FILE: join(place, "missing"),
        STEWARD_NOTIFICATIONS_SMTP_CA_FILE: made(0o644),
      };
      expect(exposedFiles(env)).to.deep.equal([
        { name: "STEWARD_DATABASE_URL_FILE", path: env.STEWARD_DATABASE_URL_FILE },
        { name: "STEWARD_ENCRYPTION_KEYS_FILE", path: env.STEWARD_ENCRYPTION_KEYS_FILE },
        { name: "STEWARD_ADMIN_PASSWORD_FILE", path: env.STEWARD_ADMIN_PASSWORD_FILE },
      ]);
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it("describes every setting", () => {
    const manual = settingsManual();
    const { unread: _unread, given: _given, declared: _declared, hashCost: _cost, ...settings } = readConfig({});
    expect(manual).to.have.length(Object.keys(settings).length);
    for (const { name, defaultText, rule, meaning } of manual) {
      expect(name).to.match(/^STEWARD_[A-Z0-9_]+(, [A-Z_]+)*$/);
      expect(defaultText).to.not.equal("");
      expect(rule).to.not.equal("");
      expect(meaning).to.match(/^[A-Z/].*\.$/);
    }
    expect(manual.find(({ name }) => name.startsWith("STEWARD_DATABASE_URL"))).to.include({
      name: "STEWARD_DATABASE_URL, STEWARD_DATABASE_URL_FILE, DATABASE_URL",
      defaultText: "unset",
    });
  });
});
