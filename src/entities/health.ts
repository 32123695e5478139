import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** The latest result of each check of the deployment's health. One replica writes them, all read them. */
export const HealthCheckSchema = defineEntity({
  name: "HealthCheck",
  tableName: "health_checks",
  properties: {
    code: p.string().length(32).primary(),
    state: p.enum(["ok", "warning", "error"]),
    /** When it got into this state. */
    since: moment(),
    /** The finding, in sentences. */
    finding: p.string().length(500),
    checkedAt: moment(),
    /** The state that administrators were told last. */
    toldState: p.enum(["ok", "warning", "error"]).default("ok"),
    /** Until when its failures count nowhere; null if they do. */
    mutedUntil: moment().nullable(),
    mutedBy: () => p.manyToOne(User).ref().nullable().deleteRule("set null").index(false),
  },
});
export class HealthCheck extends HealthCheckSchema.class {}
HealthCheckSchema.setClass(HealthCheck);

/** The knowledge of a replica of itself and of its machine. */
export interface ReplicaReadings {
  /** Milliseconds that a statement takes at least. */
  databaseLatency: number;
  /** Connections to Postgres: the most that it opens, and statements that wait for one. */
  poolSize: number;
  poolWaiting: number;
  isEventsConnected: boolean;
  /** Null without a standby. */
  isStandbyUsed: boolean | null;
  /** Milliseconds by which the clock of its machine is ahead of that of the database. */
  clockOffset: number;
  /** Bytes on the disk of the data directory; null if they cannot be read. */
  diskFree: number | null;
  diskSize: number | null;
  zoneDataVersion: string | null;
  /** Zones in use about which its sources disagree. */
  disputedZones: string[];
}

/** The servers of the deployment that run. */
export const ServerReplicaSchema = defineEntity({
  name: "ServerReplica",
  tableName: "server_replicas",
  properties: {
    id: p.uuid().primary(),
    hostname: p.string().length(255),
    version: p.string().length(64),
    startedAt: moment(),
    seenAt: moment().index("server_replicas_seen_index"),
    readings: p.json<ReplicaReadings>(),
  },
});
export class ServerReplica extends ServerReplicaSchema.class {}
ServerReplicaSchema.setClass(ServerReplica);
