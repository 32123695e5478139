// The app of the demonstration's workspaces, without packages: a page with notes that are kept in the home of the workspace.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "3000" },
    host: { type: "string", default: "127.0.0.1" },
    title: { type: "string", default: "Editor" },
  },
});
const { HOME: home = ".", STEWARD_WORKSPACE_NAME: workspace = "", STEWARD_WORKSPACE_OWNER: owner = "" } = process.env;
const file = join(home, "notes.md");
/** Characters of the notes. */
const most = 100_000;
const began = new Date();

function notes() {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return `# ${workspace}\n\nWhat you write here stays in this workspace, also while it is stopped.\n`;
  }
}

const escaped = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const page = () => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(values.title)}: ${escaped(workspace)}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
  textarea { box-sizing: border-box; font: 14px/1.5 ui-monospace, monospace; height: 60vh; padding: 1rem; width: 100%; }
  button { font: inherit; padding: 0.4rem 1.2rem; }
  dl { display: flex; flex-wrap: wrap; gap: 0.2rem 2rem; } dd { margin: 0; font-weight: 600; } dt { opacity: 0.75; }
</style>
<h1>${escaped(workspace)}</h1>
<dl>
  <div><dt>App</dt><dd>${escaped(values.title)}</dd></div>
  <div><dt>Owner</dt><dd>${escaped(owner)}</dd></div>
  <div><dt>Size</dt><dd>${escaped(process.env.STEWARD_PARAM_SIZE ?? process.env.STEWARD_PARAM_BOARD ?? "small")}</dd></div>
  <div><dt>Process</dt><dd>${process.pid}, since ${began.toISOString().slice(0, 19)} UTC</dd></div>
</dl>
<label for="notes">Notes in ${escaped(file)}</label>
<textarea id="notes" maxlength="${most}">${escaped(notes())}</textarea>
<p><button id="save">Save</button> <span role="status"></span></p>
<script>
  const say = (text) => (document.querySelector("[role=status]").textContent = text);
  document.getElementById("save").onclick = () =>
    fetch("/notes", {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(document.getElementById("notes").value),
    }).then(({ ok }) => say(ok ? "Saved." : "Not saved."), () => say("The workspace is stopped."));
</script>
`;

/** Whether a request names this program as its host: a web page that has a name point here does not. */
const isForUs = ({ headers: { host = "" } }) =>
  ["localhost", "127.0.0.1", values.host].includes(host.replace(/:\d+$/, ""));

async function save(request, send) {
  // Other pages cannot send JSON without a preflight, which has no response here.
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) return send(415);
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) if ((text += chunk).length > 4 * most) return send(413);
  try {
    const given = JSON.parse(text);
    if (typeof given !== "string" || given.length > most) return send(422);
    writeFileSync(file, given);
  } catch {
    return send(400);
  }
  return send(204);
}

const server = createServer((request, response) => {
  const send = (status, body = "", type = "text/plain") => {
    response.writeHead(status, { "Content-Type": `${type}; charset=utf-8`, "Cache-Control": "no-store" });
    response.end(body);
  };
  if (!isForUs(request)) return send(421);
  switch (`${request.method} ${request.url.split("?", 1)[0]}`) {
    case "GET /":
      return send(200, page(), "text/html");
    case "GET /healthz":
      return send(200, "ok");
    case "PUT /notes":
      return void save(request, send);
    default:
      return send(404);
  }
});

server.listen(Number(values.port), values.host, () => console.log(`${values.title} of ${workspace} is ready.`));
process.on("SIGTERM", () => process.exit(0));
