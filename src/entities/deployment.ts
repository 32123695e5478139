import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** The one row that identifies this installation, made at first boot. */
const DeploymentSchema = defineEntity({
  name: "Deployment",
  tableName: "deployment",
  properties: {
    /** Always true: there is one. */
    singleton: p.boolean().primary().default(true),
    id: p.uuid(),
    /** Signs what pages leave with browsers that are not signed in. */
    pageKey: p.type("bytea").$type<Buffer>().lazy(),
    createdAt: moment(),
  },
  checks: [{ name: "deployment_is_one", expression: "singleton" }],
});
export class Deployment extends DeploymentSchema.class {}
DeploymentSchema.setClass(Deployment);
