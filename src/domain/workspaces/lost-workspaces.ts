// Notices to owners that the agent of their workspace is gone, or has never come.
import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { agentStatus } from "../agents/agents.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { claimIds } from "../kernel/queue.js";
import { hour, minute } from "../../runtime/durations.js";
import { notify } from "../notifications/notify.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";
import { selectRunning } from "./stop-notices.js";
import { workspaceHealths } from "./workspace-health.js";

const a = columnsOf("workspaceAgents", "a");
const w = columnsOf("workspaces", "w");

/** Maximum number of workspaces that are noticed in a transaction. */
const batchSize = 50;

/** Milliseconds that an agent may be away: it comes back by itself after a short failure of the network. */
const patience = 5 * minute;

const lostAt = sql<string>`coalesce(${a.disconnectedAt}, ${a.lastConnectedAt}, ${a.createdAt})`;

/** Marks running workspaces behind an id with a lost agent: once for each loss, and at most once an hour. */
const take = ({ db }: Context, last: string | undefined) =>
  db
    .updateTable("workspaces")
    .set({ lossNoticedAt: now })
    .where(
      "id",
      "=",
      claimIds(
        selectRunning(db)
          .$if(last !== undefined, (running) => running.where("w.id", ">", last!))
          .where((eb) => eb.or([eb("w.lossNoticedAt", "is", null), eb("w.lossNoticedAt", "<", after(-hour))]))
          .where(
            sql<SqlBool>`exists (select from workspace_agents a
              where ${a.workspaceId} = ${w.id} and ${a.tokenEndedAt} is null and ${agentStatus} in ('timeout', 'disconnected')
                and ${lostAt} < ${after(-patience)} and (${w.lossNoticedAt} is null or ${w.lossNoticedAt} < ${lostAt}))`,
          )
          .orderBy("w.id"),
        batchSize,
        "w",
      ),
    )
    .returning(["id", "name", "ownerId", "templateId", "organizationId"]);

/** Tells owners that agents of their workspaces are gone. Returns the ids of the workspaces. */
async function noticeLosses(services: Services, last: string | undefined): Promise<string[]> {
  const ctx = systemContext(services);
  return ctx.transactional(async () => {
    const found = await take(ctx, last).execute();
    const healths = await workspaceHealths(
      ctx,
      found.map(({ id }) => id),
    );
    await notify(
      ctx,
      ...found.map(({ id, name, ownerId, templateId, organizationId }, index) => ({
        template: workspaceNotifications.lost,
        object: { name, organizationId },
        recipients: [ownerId],
        targets: [id, templateId, ownerId, organizationId],
        labels: { name, reason: healths[index]!.reason ?? "", help: healths[index]!.help ?? "" },
        data: {},
      })),
    );
    return found.map(({ id }) => id);
  });
}

/**
 * The job that sends the notices. Safe on several replicas: each takes other workspaces. Its first run comes minutes after
 * the start of a server, by when agents have come back that lost the server itself.
 */
export const lostWorkspaces = {
  name: "tell owners that agents of workspaces are gone",
  every: 5 * minute,
  async run(services: Services): Promise<void> {
    // Each batch begins behind the last one: after a failure of the network, there can be a hundred thousand.
    let ids: string[] = [];
    do ids = await noticeLosses(services, ids.toSorted().at(-1));
    while (ids.length === batchSize);
  },
};
