import { request } from "./requests.js";

export const watchPath = "/api/v2/notifications/inbox/watch";

/** Watches of one user that a server allows. */
export const watchesPerUser = 20;

const content = { title: "Backup finished", message: "The nightly backup of the build cache took 12 minutes." };

/** A user sends themselves a notification. */
export const sendCustom = (token: string): string =>
  request("POST", "/api/v2/notifications/custom", { token, body: { content } });
