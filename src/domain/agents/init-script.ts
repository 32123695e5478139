/** The details of the server that the script contains. */
export interface InitScriptServer {
  accessUrl: string;
  /** The SHA-256 of the program of the agent, hexadecimal. */
  sha256: string;
}

const operatingSystems: Record<string, (server: InitScriptServer) => string> = {
  linux: shellScript,
  darwin: shellScript,
  windows: powerShellScript,
};

const architectures = new Set(["amd64", "arm64", "armv7"]);

/**
 * The script that fetches the program of an external agent, checks it, and runs it with the token in the environment;
 * `undefined` for unknown machines. Contains no secret.
 */
export function initScript(server: InitScriptServer, os: string, architecture: string): string | undefined {
  const isKnown = Object.hasOwn(operatingSystems, os) && architectures.has(architecture);
  return isKnown ? operatingSystems[os]!(server) : undefined;
}

/** The path of the program of the agent. */
export const agentProgramPath = "/api/v2/init-script/agent.mjs";

// A function, so that a script that arrives incompletely does nothing.
function shellScript({ accessUrl, sha256 }: InitScriptServer): string {
  return `#!/bin/sh
# Runs the agent of a workspace on this machine. Needs Node.js 22 or newer.
set -eu

fail() {
  echo "$1" >&2
  exit 1
}

sum() {
  node -e 'process.stdout.write(require("crypto").createHash("sha256").update(require("fs").readFileSync(process.argv[1])).digest("hex"))' "$1"
}

main() {
  url='${accessUrl}'
  [ -n "\${STEWARD_AGENT_TOKEN:-}" ] || fail "STEWARD_AGENT_TOKEN is not set."
  command -v node >/dev/null || fail "Node.js 22 or newer is not installed."
  [ "$(node -p 'parseInt(process.versions.node)')" -ge 22 ] || fail "Node.js is older than version 22."

  umask 077
  folder="\${XDG_CACHE_HOME:-$HOME/.cache}/steward"
  program="$folder/agent-${sha256.slice(0, 16)}.mjs"
  mkdir -p "$folder"
  if [ ! -f "$program" ] || [ "$(sum "$program")" != ${sha256} ]; then
    curl -fsSL "$url${agentProgramPath}" -o "$program.$$"
    if [ "$(sum "$program.$$")" != ${sha256} ]; then
      rm -f "$program.$$"
      fail "The program of the agent was changed on its way. It is not run."
    fi
    mv "$program.$$" "$program"
  fi

  export STEWARD_URL="$url" STEWARD_AGENT_TOKEN
  exec node "$program" </dev/null
}

main
`;
}

function powerShellScript({ accessUrl, sha256 }: InitScriptServer): string {
  return `# Runs the agent of a workspace on this machine. Needs Node.js 22 or newer.
$ErrorActionPreference = "Stop"
$url = '${accessUrl}'
if (-not $env:STEWARD_AGENT_TOKEN) { throw "STEWARD_AGENT_TOKEN is not set." }
if (-not (Get-Command node -ErrorAction SilentlyContinue)) { throw "Node.js 22 or newer is not installed." }
if ([int](node -p "parseInt(process.versions.node)") -lt 22) { throw "Node.js is older than version 22." }

$folder = Join-Path $env:LOCALAPPDATA "steward"
$program = Join-Path $folder "agent-${sha256.slice(0, 16)}.mjs"
New-Item -ItemType Directory -Force -Path $folder | Out-Null
Invoke-WebRequest -UseBasicParsing -Uri "$url${agentProgramPath}" -OutFile $program
if ((Get-FileHash -Algorithm SHA256 -Path $program).Hash -ne "${sha256}") {
  Remove-Item $program
  throw "The program of the agent was changed on its way. It is not run."
}

$env:STEWARD_URL = $url
node $program
`;
}
