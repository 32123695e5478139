import { request } from "./requests.js";

export const watchPath = "/api/v2/notifications/inbox/watch";

const content = { title: "Backup finished", message: "The nightly backup of the build cache took 12 minutes." };

/** Request with which a user sends a notification to themselves. */
export const sendCustom = (token: string): string =>
  request("POST", "/api/v2/notifications/custom", { token, body: { content } });
