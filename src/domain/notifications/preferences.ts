import type { Insertable } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Schema } from "../../entities/schema.js";
import { auditedAs, type Diff } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { insertAll } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { findUser, lockUser, userTarget } from "../users/users.js";
import { DeliveryMethod } from "./methods.js";
import type { NotificationTemplate } from "./templates/template.js";
import { templates, templateWithId } from "./templates/all-templates.js";
import {
  check,
  choice,
  flag,
  inputOf,
  type Input,
  list,
  optional,
  otherwise,
  reference,
  required,
} from "../kernel/values.js";

/** The choice of a user about a template. */
export interface PreferenceRow {
  templateId: string;
  /** Whether it is off by every method. */
  disabled: boolean;
  /** The methods by which the user does not receive it. */
  disabledMethods: DeliveryMethod[];
  updatedAt: string;
}

/** A choice of a user about a template. */
export const Choice = inputOf({
  template: required(reference, "ID of the template."),
  disabled: required(flag, "Whether to disable these notifications. Has no effect on mandatory templates."),
});
export type Choice = Input<typeof Choice>;

/** Maximum number of choices: a multiple of the number of templates. */
const mostChoices = 100;

export const UpdatePreferences = inputOf({
  user: otherwise(reference, "me", "The user: ID, username, or `me`."),
  choices: required(
    list(mostChoices, Choice, "choices"),
    "The decisions, {limits}. Templates that are not named stay as they are.",
  ),
  method: optional(choice(DeliveryMethod), "The method they apply to. Default: all methods."),
});
export type UpdatePreferences = Input<typeof UpdatePreferences>;

const allMethods = Object.values(DeliveryMethod);

/** Lists the templates about which a user decided, by name. For the user and owners. */
export async function listNotificationPreferences(ctx: Context, ref: string): Promise<PreferenceRow[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "notification_preference:read", userTarget(user));
  return preferencesOfUser(ctx, user.id);
}

/** The preferences of a user, without a check of permissions. */
export async function preferencesOfUser({ db }: Context, userId: string): Promise<PreferenceRow[]> {
  const decided = await db
    .selectFrom("notificationPreferences")
    .select(["templateId", "method", "isDisabled", "updatedAt"])
    .where("userId", "=", userId)
    .orderBy("method")
    .execute();
  const byTemplate = Map.groupBy(decided, ({ templateId }) => templateId);
  return templates.flatMap(({ id: templateId, isOffByDefault = false }) => {
    const own = byTemplate.get(templateId);
    if (!own) return [];
    const isDisabled = (method: DeliveryMethod) =>
      own.find((each) => each.method === method)?.isDisabled ?? isOffByDefault;
    const disabledMethods = allMethods.filter(isDisabled).toSorted();
    const updatedAt = own
      .map((each) => each.updatedAt)
      .toSorted()
      .at(-1)!;
    return [{ templateId, disabled: disabledMethods.length === allMethods.length, disabledMethods, updatedAt }];
  });
}

/**
 * Stores choices of a user about templates; others stay as they are. Mandatory templates cannot be disabled: a choice
 * to do so is stored as the opposite. Returns the id of the user.
 */
export async function updateNotificationPreferences(
  ctx: Context,
  { user: ref, choices, method }: UpdatePreferences,
): Promise<string> {
  const user = await lockUser(ctx, ref, "notification_preference:update");
  authorize(ctx.actor, "notification_preference:update", userTarget(user));
  const wanted = checkChoices(choices);
  const methods = method == null ? allMethods : [method];
  const changed = await store(
    ctx,
    wanted.flatMap(({ template, disabled }) => {
      const isDisabled = disabled && !template.isMandatory;
      return methods.map((each) => ({ userId: user.id, templateId: template.id, method: each, isDisabled }));
    }),
  );
  const diff: Diff = {};
  for (const each of changed)
    diff[`${templateWithId(each.templateId)!.name} (${each.method})`] = { new: !each.isDisabled };
  if (changed.length > 0)
    ctx.audit({ action: "update", ...auditedAs("notification_preference", user.id, user.username), diff });
  return user.id;
}

type Preference = Omit<Insertable<Schema["notificationPreferences"]>, "updatedAt">;

/** Stores preferences. Returns those that changed. */
async function store({ db }: Context, preferences: readonly Preference[]) {
  if (preferences.length === 0) return [];
  const updatedAt = new Date(databaseTime());
  return insertAll(
    db,
    "notificationPreferences",
    preferences.map((each) => ({ ...each, updatedAt })),
  )
    .onConflict((conflict) =>
      conflict
        .columns(["userId", "templateId", "method"])
        .doUpdateSet((eb) => ({ isDisabled: eb.ref("excluded.isDisabled"), updatedAt }))
        .whereRef("notificationPreferences.isDisabled", "<>", "excluded.isDisabled"),
    )
    .returning(["templateId", "method", "isDisabled"])
    .execute();
}

function checkChoices(
  choices: UpdatePreferences["choices"],
): Array<{ template: NotificationTemplate; disabled: boolean }> {
  const problems = new Problems();
  check(UpdatePreferences, { choices }, problems);
  problems.throwIfAny();
  const wanted = new Map<string, { template: NotificationTemplate; disabled: boolean }>();
  for (const [index, { template: id, disabled }] of choices.entries()) {
    const template = templateWithId(id.toLowerCase());
    if (template) wanted.set(template.id, { template, disabled });
    else problems.add(`choices[${index}]`, "Must be the id of a notification template.");
  }
  problems.throwIfAny();
  return [...wanted.values()];
}
