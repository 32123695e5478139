import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";

/** The single row that identifies this deployment, created on the first start. */
export const DeploymentSchema = defineEntity({
  name: "Deployment",
  tableName: "deployment",
  properties: {
    /** Always true, which makes the row unique. */
    singleton: p.boolean().primary().default(true),
    id: p.uuid(),
    /** Secret that signs page state in signed-out browsers. Replaced on the next start if its key is missing. */
    pageKeyCiphertext: p.type("bytea").$type<Buffer>().nullable().lazy(),
    pageKeyNonce: p.type("bytea").$type<Buffer>().nullable().lazy(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().deleteRule("set null").index(false),
    /** SHA-256 of the configuration of external authentication, without its secrets. */
    externalAuthHash: p.type("bytea").$type<Buffer>().nullable().lazy(),
    /** The carrier of messages between replicas, by the server that started last. */
    eventsCarrier: p.text().$type<"nats" | "postgres">().nullable().lazy(),
    /** When the checks of its health ran last; and the time of the last backup, if it is known. */
    healthCheckedAt: moment().nullable(),
    backedUpAt: moment().nullable(),
    /** The end of the time of which all quarter-hour counts are stored. */
    countedUntil: moment().nullable(),
    createdAt: moment(),
  },
  checks: [{ name: "deployment_is_one", expression: "singleton" }],
});
export class Deployment extends DeploymentSchema.class {}
DeploymentSchema.setClass(Deployment);
