import { authorize } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { isOnline } from "../provisioners/matching.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "./site-settings.js";

/** The steps after which people can work with a new deployment. */
export const FirstStepName = {
  DAEMON: "daemon",
  TEMPLATE: "template",
  SIGN_IN: "sign_in",
  INVITATION: "invitation",
} as const;
export type FirstStepName = (typeof FirstStepName)[keyof typeof FirstStepName];

export interface FirstStep {
  name: FirstStepName;
  isDone: boolean;
}

export interface FirstSteps {
  isDismissed: boolean;
  steps: FirstStep[];
}

const setting = siteSetting("first_steps", { isDismissed: false });

/** Reads what of the first steps is done, by what the deployment has now. */
export async function readFirstSteps(ctx: Context): Promise<FirstSteps> {
  authorize(ctx.actor, "deployment_config:read");
  const { isDismissed } = await readSiteSetting(ctx, setting);
  const found = await ctx.db
    .selectNoFrom((eb) => [
      // The built-in daemon, which has no key and no user, builds nothing that runs.
      eb
        .exists(
          eb
            .selectFrom("provisionerDaemons as d")
            .select("d.id")
            .where(isOnline)
            .where((is) => is.or([is("d.keyId", "is not", null), is("d.userId", "is not", null)])),
        )
        .as("daemon"),
      eb.exists(eb.selectFrom("templates").select("id").where("deletedAt", "is", null)).as("template"),
      eb
        .or([
          eb.exists(eb.selectFrom("invitations").select("id")),
          eb.exists(
            eb
              .selectFrom("users")
              .select("id")
              .where("isSystem", "=", false)
              .where("isServiceAccount", "=", false)
              .where("deletedAt", "is", null)
              .orderBy("id")
              .offset(1),
          ),
        ])
        .as("invitation"),
    ])
    .$narrowType<Record<"daemon" | "template" | "invitation", boolean>>()
    .executeTakeFirstOrThrow();
  const { identityProviders, transports } = ctx.services;
  const done: Record<FirstStepName, boolean> = {
    ...found,
    sign_in: identityProviders.active.length > 0 || transports.smtp !== undefined,
  };
  return { isDismissed, steps: Object.values(FirstStepName).map((name) => ({ name, isDone: done[name] })) };
}

/** Hides the first steps for all administrators, although some remain. */
export async function dismissFirstSteps(ctx: Context): Promise<void> {
  authorize(ctx.actor, "deployment_config:update");
  await replaceSiteSetting(ctx, setting, { isDismissed: true }, auditedAs("deployment", "first_steps", "first steps"));
}
