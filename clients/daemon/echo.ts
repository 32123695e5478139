// The type `echo`: reports the resources of templates and executes nothing, which suits external agents.
import type { Worker } from "./daemon.js";
import type { Job } from "./job.js";
import { renderResources, valuesOf } from "./render.js";

/** Completes every job with the rendered resources of its template. */
export const echo: Worker = {
  type: "echo",
  run: async (job: Job) => {
    const { assignment } = job;
    const resources = renderResources(assignment, valuesOf(assignment));
    job.log("Resources", resources.map(({ name }) => name).join(", ") || "This template has no resources.");
    await job.report(resources);
    await job.complete({});
  },
};
