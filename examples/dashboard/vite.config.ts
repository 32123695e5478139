import react from "@vitejs/plugin-react";
import { createLogger, defineConfig, type ProxyOptions } from "vite";

/** The server that this dashboard shows. */
const target = process.env.STEWARD_URL ?? "http://localhost:3000";

/** Everything that the server itself responds to, as a reverse proxy in front of both would have it. */
const proxy: Record<string, ProxyOptions> = {
  "^/(graphql|api|login|logout|oauth2|external-auth|docs|openapi.json|healthz)(/|\\?|$)": {
    target,
    ws: true,
    configure(server) {
      // The dashboard distinguishes a server that is away from one that fails.
      server.on("error", (_error, _request, response) => {
        if ("writeHead" in response && !response.headersSent) response.writeHead(502).end();
      });
    },
  },
};

/** Leaves out sockets that end because a page was closed or the server restarts, which the dashboard shows by itself. */
function withoutSockets() {
  const logger = createLogger();
  return {
    ...logger,
    error: (...[text, options]: Parameters<typeof logger.error>) => {
      if (!text.includes("ws proxy")) logger.error(text, options);
    },
  };
}

export default defineConfig({
  customLogger: withoutSockets(),
  plugins: [react()],
  server: { proxy, strictPort: true },
  preview: { proxy, strictPort: true },
});
