import type { MigrationObject } from "@mikro-orm/core";
import { Foundation } from "./0001-foundation.js";

/** In the order in which they run. Never edit one that has landed; add the next. */
export const migrations: MigrationObject[] = [{ name: "0001-foundation", class: Foundation }];
