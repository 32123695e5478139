/** Rules that decide which daemon may run which job, in SQL of a job `j` and a daemon `d`. */

const beside = (tags: string) => `${tags} - '{scope,owner}'::text[]`;

/** The condition on the tags of a daemon, in SQL. Jobs without tags of their own go to daemons without any. */
export const tagsMatch = (tags: string): string =>
  `j.tags <@ ${tags} and (${beside("j.tags")} <> '{}' or ${beside(tags)} = '{}')`;

/** The condition that the daemon `d` may run the job `j`. */
export const daemonMatches = `d.organization_id = j.organization_id and j.provisioner = any(d.provisioners)
  and (j.pinned_daemon_id is null or j.pinned_daemon_id = d.id) and ${tagsMatch("d.tags")}`;

/** The condition that the daemon `d` is online. */
export const isOnline = "d.last_seen_at > now() - interval '90 seconds'";

/** The condition that the job `j` is in the queue: it was not handed out. It has the index of the queue. */
export const isWaiting = "j.worker_id is null and j.completed_at is null and j.status = 'pending'";
