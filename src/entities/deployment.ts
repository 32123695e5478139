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
    createdAt: moment(),
  },
  checks: [{ name: "deployment_is_one", expression: "singleton" }],
});
export class Deployment extends DeploymentSchema.class {}
DeploymentSchema.setClass(Deployment);
