import { Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import {
  dismissFirstSteps,
  type FirstStep,
  FirstStepName,
  type FirstSteps,
  readFirstSteps,
} from "../domain/deployment/first-steps.js";
import type { Context } from "../domain/kernel/context.js";
import { Access } from "./engine/access.js";
import { enumType, Mutates } from "./engine/declarations.js";

enumType({ FirstStepName }, "A step after which people can work with a new deployment.", {
  DAEMON: "A provisioner daemon that builds workspaces, besides the built-in one, is online.",
  TEMPLATE: "There is a template.",
  SIGN_IN: "An identity provider is configured, or a mail server, which invitations and forgotten passwords need.",
  INVITATION: "There is another person besides the first administrator, or an invitation of one.",
});

@ObjectType("FirstStep", { simpleResolvers: true, description: "A first step of a new deployment." })
class FirstStepType implements FirstStep {
  @Field(() => FirstStepName, { description: "The step." }) name!: FirstStepName;
  @Field({ description: "Whether the deployment has now what the step is about." }) isDone!: boolean;
}

@ObjectType("FirstSteps", { simpleResolvers: true, description: "The first steps of a new deployment." })
class FirstStepsType implements FirstSteps {
  @Field({ description: "Whether an administrator has dismissed them." }) isDismissed!: boolean;
  @Access({ countsAs: 4 })
  @Field(() => [FirstStepType], { description: "The steps in the order in which they are usually taken." })
  steps!: FirstStep[];
}

@Resolver()
export class FirstStepsResolver {
  @Access({ needs: ["deployment_config:read"] })
  @Query(() => FirstStepsType, {
    description: "Returns which of the first steps of a new deployment are done, as the server finds it now.",
  })
  firstSteps(@Ctx() ctx: Context): Promise<FirstSteps> {
    return readFirstSteps(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Dismisses the first steps for all administrators.", {
    firstSteps: { type: () => FirstStepsType, description: "The steps after the change.", covers: "everything" },
  })
  async dismissFirstSteps(@Ctx() ctx: Context) {
    await dismissFirstSteps(ctx);
    return { firstSteps: () => readFirstSteps(ctx) };
  }
}
