import type { ReplicaReadings } from "../../entities/health.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Services } from "../kernel/context.js";
import type { Judgement, OfReplica } from "./judgements.js";
import type { Replica } from "./replicas.js";

/** The sources that checks read. */
export interface Subject {
  services: Services;
  db: Db;
  /** The servers that run. */
  replicas: readonly Replica[];
  /** The time by the clock of the database, in Unix milliseconds. */
  at: number;
}

/** Reads what a check is about, and judges it. */
export type Probe = (subject: Subject) => Promise<Judgement>;

/** Returns a reading of each server. */
export const ofReplicas = <Value>(
  replicas: readonly Replica[],
  read: (readings: ReplicaReadings) => Value,
): Array<OfReplica<Value>> => replicas.map(({ hostname, readings }) => ({ hostname, value: read(readings) }));
