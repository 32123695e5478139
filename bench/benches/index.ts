import type { Bench } from "../run.js";
import { customNotificationBench } from "./custom-notification.js";
import { growthBench } from "./growth.js";
import { healthBench } from "./health.js";
import { listsBench } from "./lists.js";
import { oauth2Bench } from "./oauth2.js";
import { readGroupBench } from "./read-group.js";
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
