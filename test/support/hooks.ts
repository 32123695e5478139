// Runs around the whole test run.
import "reflect-metadata";
import { stopCluster } from "./cluster.js";

export const mochaHooks = {
  async afterAll(): Promise<void> {
    await stopCluster();
  },
};
