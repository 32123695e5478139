import type { Bench } from "../run.js";
import { bootBench } from "./boot.js";
import { connectionLogsBench } from "./connection-logs.js";
import { consoleBench } from "./console.js";
import { customNotificationBench } from "./custom-notification.js";
import { eventsBench } from "./events.js";
import { fanOutBench } from "./fan-out.js";
import { growthBench } from "./growth.js";
import { listsBench } from "./lists.js";
import { loginBench } from "./login.js";
import { loginFloodBench } from "./login-flood.js";
import { loginTimingBench } from "./login-timing.js";
import { monthsBench } from "./months.js";
import { notificationLatencyBench } from "./notification-latency.js";
import { hangingReceiverBench, notificationQueueBench } from "./notification-queue.js";
import { oauth2Bench } from "./oauth2.js";
import { oauth2GrowthBench } from "./oauth2-growth.js";
import { provisionerJobsBench } from "./provisioner-jobs.js";
import { readGroupBench } from "./read-group.js";
import { readGroupWithMembersBench } from "./read-group-with-members.js";
import { requestLogBench } from "./request-log.js";
import { scaleBench } from "./scale.js";
import { scimBench } from "./scim.js";
import { updateGroupBench } from "./update-group.js";
import { watcherMemoryBench } from "./watcher-memory.js";

/** In the order of the table. */
export const benches: Bench[] = [
  readGroupBench,
  readGroupWithMembersBench,
  requestLogBench,
  listsBench,
  customNotificationBench,
  updateGroupBench,
  fanOutBench,
  notificationQueueBench,
  hangingReceiverBench,
  notificationLatencyBench,
  eventsBench,
  watcherMemoryBench,
  bootBench,
  consoleBench,
  loginBench,
  loginTimingBench,
  loginFloodBench,
  oauth2Bench,
  oauth2GrowthBench,
  connectionLogsBench,
  monthsBench,
  scimBench,
  provisionerJobsBench,
  growthBench,
  scaleBench,
];
