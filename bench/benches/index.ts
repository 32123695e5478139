import type { Bench } from "../run.js";
import { growthBench } from "./growth.js";
import { oauth2Bench } from "./oauth2.js";
import { customNotificationBench, healthBench, listsBench, readGroupBench } from "./paired.js";
import { scaleBench } from "./scale.js";
import { watchersBench } from "./watchers.js";

/** In the order of the table. */
export const benches: Bench[] = [
  healthBench,
  readGroupBench,
  listsBench,
  customNotificationBench,
  oauth2Bench,
  watchersBench,
  growthBench,
  scaleBench,
];
