// A queue of jobs as one would write it by hand: 20 workers that take a job with SKIP LOCKED and record its end.
import { ids } from "../data.js";
import { pool, readJson, serve } from "./serve.js";

const workers = 20;

const take = {
  name: "take",
  text: `update provisioner_jobs set status = 'running', started_at = now(), lease_expires_at = now() + interval '5 minutes'
    where id = (select id from provisioner_jobs where organization_id = $1 and status = 'pending'
        and worker_id is null and completed_at is null
      order by priority, created_at, id for update skip locked limit 1)
    returning id`,
};
const end = {
  name: "end",
  text: "update provisioner_jobs set status = 'succeeded', completed_at = now() where id = $1 and status = 'running'",
};

async function work(): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ id: string }>({ ...take, values: [ids.organization] });
    if (!rows[0]) return;
    await pool.query({ ...end, values: [rows[0].id] });
  }
}

serve(async (request) => {
  await readJson(request);
  await Promise.all(Array.from({ length: workers }, work));
  return undefined;
});
