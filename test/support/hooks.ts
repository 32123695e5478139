// Runs around the whole test run.
import { stopCluster } from "./cluster.js";

export const mochaHooks = {
  async afterAll(): Promise<void> {
    await stopCluster();
  },
};
