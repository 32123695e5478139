// What real programs register (RFC 7591 §2), and where they return to. Data only, each with its version and source.

export interface RealRegistration {
  readonly client: string;
  /** The version of the program, or the date of the report. */
  readonly version: string;
  readonly source: string;
  readonly registers: {
    readonly client_name: string;
    readonly redirect_uris: readonly string[];
    readonly token_endpoint_auth_method?: string;
    readonly application_type?: string;
    readonly [name: string]: unknown;
  };
  /** The redirect URI of its requests. Ports of loopback addresses may differ from those that it registered. */
  readonly returnsTo: string;
}

const codeAndRefresh = { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };

export const realRegistrations: readonly RealRegistration[] = [
  {
    client: "Cursor",
    version: "2026-09-11",
    source: "soflyy/agent-connector-for-wp#111, erp-mafia/accounted#2225 (URIs), different-ai/openwork#3059 (method)",
    registers: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      token_endpoint_auth_method: "none",
      application_type: "web",
      ...codeAndRefresh,
    },
    returnsTo: "cursor://anysphere.cursor-mcp/oauth/callback",
  },
  {
    client: "Cursor, with the name of the server in the path",
    version: "2025-11-06",
    source: "browserstack/mcp-server#176, its log",
    registers: {
      client_name: "Cursor",
      redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/user-browserstack/callback"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "cursor://anysphere.cursor-mcp/oauth/user-browserstack/callback",
  },
  {
    client: "VS Code",
    version: "05f882b0",
    source: "microsoft/vscode, src/vs/base/common/oauth.ts, fetchDynamicRegistration",
    registers: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    // Another port, where another window has the usual one (microsoft/vscode#278512).
    returnsTo: "http://127.0.0.1:59656/",
  },
  {
    client: "Cline",
    version: "3.42.0",
    source: "cline/cline 068316fe, src/services/mcp/McpOAuthManager.ts, and cline/cline#8103 (the URI, with a hash)",
    registers: {
      client_name: "Cline",
      client_uri: "https://cline.bot",
      software_id: "cline",
      redirect_uris: ["vscode://saoudrizwan.claude-dev/mcp-auth/callback/9f86d081884c7d65"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "vscode://saoudrizwan.claude-dev/mcp-auth/callback/9f86d081884c7d65",
  },
  {
    client: "Windsurf",
    version: "2026-09-05",
    source: "trypostit/trypost#336, actionhero/keryx#502 (the scheme; host and path are those of its kind)",
    registers: {
      client_name: "Windsurf",
      redirect_uris: ["windsurf://codeium.windsurf/oauth/callback"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "windsurf://codeium.windsurf/oauth/callback",
  },
  {
    client: "Claude Code, desktop",
    version: "2026-09-17",
    source: "RevenueCat/ai-toolkit#58 (the URI)",
    registers: {
      client_name: "Claude Code",
      redirect_uris: ["claude://claude.ai/mcp-auth-callback/sdk"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "claude://claude.ai/mcp-auth-callback/sdk",
  },
  {
    client: "Claude Code",
    version: "2.1",
    source: "elmohq/elmo#684, from the wire",
    registers: {
      client_name: "Claude Code",
      redirect_uris: ["http://localhost:3118/callback"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      ...codeAndRefresh,
    },
    returnsTo: "http://localhost:3118/callback",
  },
  {
    client: "Codex",
    version: "0.147",
    source: "elmohq/elmo#684, from the wire, and openai/codex#30460 (the path)",
    registers: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:37819/callback/6MFBM1In3Ey-"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:37819/callback/6MFBM1In3Ey-",
  },
  {
    client: "MCP Inspector",
    version: "2.12.0",
    source: "the registration of the program in its package of npm",
    registers: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://127.0.0.1:6276/oauth/callback"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:6276/oauth/callback",
  },
  {
    client: "A program that registers no method",
    version: "1.32.2",
    source: "@modelcontextprotocol/sdk, shared/auth.js: token_endpoint_auth_method is optional in the metadata",
    registers: { client_name: "Assistant", redirect_uris: ["http://127.0.0.1:8000/callback"] },
    returnsTo: "http://127.0.0.1:8000/callback",
  },
];
