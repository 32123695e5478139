// A world whose server is the compiled program, in a process of its own: bundling can change what the sources do.
import { Pool } from "pg";
import { type App, ownerPassword } from "./app.js";
import { cloneDatabase } from "./cluster.js";
import { spawnServer } from "./process.js";
import { Client, World } from "./world.js";

/** Starts the program and signs its owner in. Of its services, only the connections to the database are there. */
export async function startCompiled(changes: NodeJS.ProcessEnv = {}): Promise<World> {
  const database = await cloneDatabase();
  const pool = new Pool({ connectionString: database.url, max: 2 });
  const server = await spawnServer({
    STEWARD_DATABASE_URL: database.url,
    STEWARD_BUILTIN_DAEMON: "false",
    STEWARD_LOG_LEVEL: "error",
    STEWARD_REQUEST_LOG: "off",
    ...changes,
  });
  const close = async () => {
    server.child.kill("SIGTERM");
    await server.ended;
    await pool.end();
  };
  const app = { url: server.url, services: { database: { pool } }, close } as unknown as App;
  const { body, status } = await new Client(server.url).post("/api/v2/users/login", {
    email: "owner@example.com",
    password: ownerPassword,
  });
  if (status !== 201) throw new Error(`The owner could not sign in: ${server.output()}`);
  const { me, organizations } = await new Client(server.url, body.session_token as string).graphql(
    "{ me { id username email } organizations { id } }",
  );
  return new World(app, database, { ...me, token: body.session_token }, organizations[0]!.id);
}
