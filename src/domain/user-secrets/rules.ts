import { isObeyed, textProblem } from "../../runtime/text.js";
import { bytes, meant, textBy } from "../kernel/values.js";
import { secretLengths } from "../../entities/user-secrets.js";
import { longestPath } from "../../entities/lengths.js";

const isBytes = (text: string, least: number, most: number): boolean => {
  const size = Buffer.byteLength(text);
  return size >= least && size <= most;
};

/** Names of secrets. Faults never contain a value. */
export const secretName = meant(
  textBy((given) => secretNameProblem(given), { minLength: 1, maxLength: secretLengths.name, pattern: "^[^/?#]+$" }),
  { limits: `1 to ${secretLengths.name} bytes` },
);

function secretNameProblem(name: string): string | undefined {
  if (!isBytes(name, 1, secretLengths.name)) return `Must be 1 to ${secretLengths.name} bytes.`;
  if (name.trim() !== name) return "Must not begin or end with white space.";
  if (/[/?#]/.test(name) || isObeyed(name))
    return "Must not hold any of / ? #, control characters, or characters that change the direction of text.";
  return name === "." || name === ".." ? "Must not be . or .. alone." : textProblem(name);
}

/** Values of secrets. */
export const secretValue = meant(bytes(1, 24_576), { kind: "secret" });

/** The variable that gets the value; empty for none. */
export const secretVariable = textBy((given) => envNameProblem(given), {
  maxLength: secretLengths.variable,
  pattern: "^$|^[A-Za-z_][A-Za-z0-9_]*$",
});

/** The file that gets the value; empty for none. */
export const secretFile = textBy((given) => filePathProblem(given), { maxLength: longestPath, pattern: "^$|^~?/" });

/** The fault of the name of a variable; empty names are valid. */
export function envNameProblem(name: string): string | undefined {
  if (name === "") return undefined;
  if (name.length > secretLengths.variable || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return `Must be empty, or 1 to ${secretLengths.variable} letters, digits and underscores that do not begin with a digit.`;
  return reservedEnvNameProblem(name);
}

const reservedNames = new Set(
  [
    "PATH HOME SHELL USER LOGNAME PWD OLDPWD LANG TERM IFS CDPATH ENV BASH_ENV TMPDIR TMP TEMP HOSTNAME",
    "SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY EDITOR VISUAL PAGER VSCODE_PROXY_URI",
    "XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME STEWARD",
  ].flatMap((line) => line.split(" ")),
);
const reservedPrefixes = ["STEWARD_", "GIT_", "LC_", "LD_", "DYLD_"];

/** Rejects names that the system reserves, in any letter case. */
function reservedEnvNameProblem(name: string): string | undefined {
  const upper = name.toUpperCase();
  if (reservedNames.has(upper)) return `The name ${upper} is reserved.`;
  const prefix = reservedPrefixes.find((each) => upper.startsWith(each));
  return prefix && `Names that begin with ${prefix} are reserved.`;
}

function filePathProblem(path: string): string | undefined {
  if (path === "") return undefined;
  if (!isBytes(path, 2, 4096) || !/^~?\//.test(path))
    return "Must be empty, or 2 to 4096 bytes that begin with ~/ or /.";
  if (isObeyed(path)) return "Must not hold control characters or characters that change the direction of text.";
  const segments = path.slice(path.indexOf("/") + 1).split("/");
  const isPlain = segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
  return isPlain ? textProblem(path) : "Must not end in / or hold segments that are empty, . or ..";
}
