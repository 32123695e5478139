import { request } from "./requests.js";

export const watchPath = "/api/v2/notifications/inbox/watch";

/** Watches that the server allows per user. */
export const watchesPerUser = 20;

const content = { title: "Backup finished", message: "The nightly backup of the build cache took 12 minutes." };

/** Request with which a user sends a notification to themselves. */
export const sendCustom = (token: string): string =>
  request("POST", "/api/v2/notifications/custom", { token, body: { content } });
