// pg-boss as its documentation recommends for throughput: batches, woken by NOTIFY, and no pause while batches are full.
import { PgBoss } from "pg-boss";
import { batch, payload, process as processOne, serveQueue } from "../floors/queue.js";
import { pool } from "../floors/serve.js";

const boss = new PgBoss({
  connectionString: process.env.BENCH_DATABASE_URL!,
  schema: "bench_pgboss",
  max: 20,
  useListenNotify: true,
});
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue("messages", { notify: true });
const options = { batchSize: batch, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
await boss.work("messages", options, async (jobs) => jobs.forEach(processOne));

serveQueue({
  enqueue: () => boss.send("messages", payload),
  unrecorded: async () => {
    const { rows } = await pool.query<{ n: number }>(
      "select count(*)::int as n from bench_pgboss.job where name = 'messages' and state < 'completed'",
    );
    return rows[0]!.n;
  },
});
