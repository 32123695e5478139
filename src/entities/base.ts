import { defineEntity, p } from "@mikro-orm/core";
import { v7 as uuidv7 } from "uuid";

/** A moment, kept to the millisecond. */
export const moment = () => p.datetime(3);

/** What most tables have: a UUIDv7 that sorts by time of creation, and when the row was made and last changed. */
export const BaseSchema = defineEntity({
  name: "Base",
  abstract: true,
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => uuidv7()),
    createdAt: moment().onCreate(() => new Date()),
    updatedAt: moment()
      .onCreate(() => new Date())
      .onUpdate(() => new Date()),
  },
});
