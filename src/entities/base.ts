import { defineEntity, p } from "@mikro-orm/core";
import { v7 as uuidv7 } from "uuid";
import { databaseTime } from "../runtime/clock.js";

/** A timestamp with millisecond precision. */
export const moment = () => p.datetime(3);

/** Columns of most tables: a UUIDv7, which sorts by creation time, and the times of creation and last update. */
export const BaseSchema = defineEntity({
  name: "Base",
  abstract: true,
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => uuidv7()),
    createdAt: moment().onCreate(() => new Date(databaseTime())),
    updatedAt: moment()
      .onCreate(() => new Date(databaseTime()))
      .onUpdate(() => new Date(databaseTime())),
  },
});
