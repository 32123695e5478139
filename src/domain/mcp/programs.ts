import { type InferResult, sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { OwnResource } from "../oauth2/audiences.js";
import type { ClientKind } from "../oauth2/clients.js";
import { isLive } from "../oauth2/grants.js";

/** The newest grants of which programs are counted, and the most programs that are listed. */
const mostGrants = 1000;
const mostPrograms = 100;

const g = columnsOf("oauth2Grants", "g");

const programs = (db: Db, resource: string) =>
  db
    .with("recent", (from) =>
      from
        .selectFrom("oauth2Grants as g")
        // As the index has it.
        .where(sql<string>`${g.audiences}[1]`, "=", resource)
        .where("g.revokedAt", "is", null)
        .where(isLive)
        .orderBy("g.id", "desc")
        .limit(mostGrants)
        .select(["g.clientId", "g.userId", "g.lastUsedAt"]),
    )
    .selectFrom("recent as r")
    .innerJoin("oauth2Clients as c", "c.id", "r.clientId")
    .groupBy("c.id")
    .select(["c.id", "c.name", "c.kind"])
    .select((eb) => [
      eb.fn.count<number>("r.userId").distinct().as("userCount"),
      eb.fn.max("r.lastUsedAt").as("lastUsedAt"),
    ])
    .$narrowType<{ kind: ClientKind }>()
    .orderBy("lastUsedAt", "desc")
    .orderBy("c.id")
    .limit(mostPrograms);

/** A program that users gave access to the MCP server alone. */
export type McpProgram = InferResult<ReturnType<typeof programs>>[number];

/** Lists the programs with access to the MCP server, by the newest grants, the most recently used first. */
export async function listMcpPrograms(ctx: Context): Promise<McpProgram[]> {
  authorize(ctx.actor, "deployment_config:read");
  return programs(ctx.db, ctx.config.accessUrl + OwnResource.MCP).execute();
}
