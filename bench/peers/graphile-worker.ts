// graphile-worker as its documentation recommends for throughput: a local queue, and completions in batches.
import { run } from "graphile-worker";
import { batch, payload, process as processOne, serveQueue } from "../floors/queue.js";
import { pool } from "../floors/serve.js";

const runner = await run({
  connectionString: process.env.BENCH_DATABASE_URL!,
  taskList: { messages: processOne },
  noHandleSignals: true,
  preset: {
    worker: {
      schema: "bench_graphile",
      concurrentJobs: batch,
      maxPoolSize: 20,
      localQueue: { size: batch },
      completeJobBatchDelay: 5,
      failJobBatchDelay: 5,
    },
  },
  logger: undefined,
});

serveQueue({
  enqueue: () => runner.addJob("messages", payload),
  unrecorded: async () => {
    const { rows } = await pool.query<{ n: number }>("select count(*)::int as n from bench_graphile.jobs");
    return rows[0]!.n;
  },
});
