import { NotificationsResolver } from "./notifications.js";

/** Every resolver of the schema, by area. */
export const resolvers: Function[] = [NotificationsResolver];
