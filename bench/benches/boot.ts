import { setTimeout as sleep } from "node:timers/promises";
import { judge } from "../report.js";
import type { Bench, Run } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";

/** Milliseconds without requests after which a server counts as idle. */
const settling = 3_000;

interface Boot {
  seconds: number;
  megabytes: number;
}

async function measure(run: Run): Promise<Boot> {
  const since = performance.now();
  await using server = await startSteward(run);
  const seconds = (performance.now() - since) / 1_000;
  await sleep(settling);
  const { rss } = await server.usage();
  return { seconds, megabytes: rss / 1_000_000 };
}

/** Time from starting the process on a migrated database until it is ready, and its memory then. */
export const bootBench: Bench = {
  name: "boot",
  async measure(run) {
    const title = "boot";
    // The very first start also creates what a deployment has only once.
    await measure(run);
    const boots: Boot[] = [];
    for (let nr = 1; nr <= run.rounds; nr++) {
      run.progress(`${title}: round ${nr} of ${run.rounds}`);
      boots.push(await measure(run));
    }
    const seconds = median(boots.map((boot) => boot.seconds));
    const megabytes = median(boots.map((boot) => boot.megabytes));
    return [
      {
        bench: title,
        what: "to ready",
        cost: `${seconds.toFixed(2)} s`,
        ...judge(seconds, { limit: 1.2, aim: 0.6 }, "s"),
      },
      {
        bench: title,
        what: "idle memory",
        cost: `${megabytes.toFixed(0)} MB RSS`,
        ...judge(megabytes, { limit: 200, aim: 140 }, "MB"),
      },
    ];
  },
};
