import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";

/** The one row that identifies this installation, made at first boot. */
const DeploymentSchema = defineEntity({
  name: "Deployment",
  tableName: "deployment",
  properties: {
    /** Always true: there is one. */
    singleton: p.boolean().primary().default(true),
    id: p.uuid(),
    /** Signs what pages leave with browsers that are not signed in. The next start makes another if its key is gone. */
    pageKeyCiphertext: p.type("bytea").$type<Buffer>().nullable().lazy(),
    pageKeyNonce: p.type("bytea").$type<Buffer>().nullable().lazy(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().deleteRule("set null").index(false),
    createdAt: moment(),
  },
  checks: [{ name: "deployment_is_one", expression: "singleton" }],
});
export class Deployment extends DeploymentSchema.class {}
DeploymentSchema.setClass(Deployment);
