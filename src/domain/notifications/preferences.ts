import { auditedAs, type Diff } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { Problems } from "../kernel/errors.js";
import { findUser, lockUser, userTarget } from "../users/users.js";
import { DeliveryMethod } from "./methods.js";
import type { NotificationTemplate } from "./templates/template.js";
import { templateWithId } from "./templates/templates.js";

/** What a user decided about a template. */
export interface PreferenceRow {
  templateId: string;
  /** Whether it is off by every method. */
  disabled: boolean;
  /** The methods by which the user does not receive it. */
  disabledMethods: DeliveryMethod[];
  updatedAt: string;
}

/** A choice of a user about a template. */
export interface Choice {
  template: string;
  disabled: boolean;
}

export interface UpdatePreferences {
  user: string;
  choices?: readonly Choice[] | null;
  /** Default: all methods. */
  method?: DeliveryMethod | null;
}

const allMethods = Object.values(DeliveryMethod);

const preferencesOf = statement<PreferenceRow>(`
  select template_id as "templateId", count(*) filter (where is_disabled) = ${allMethods.length} as disabled,
    array_agg(method order by method) filter (where is_disabled) as "disabledMethods", max(updated_at) as "updatedAt"
  from notification_preferences where user_id = $1 group by template_id`);

/** Lists the templates about which a user decided, by name. For the user and owners. */
export async function listNotificationPreferences(ctx: Context, ref: string): Promise<PreferenceRow[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "notification_preference:read", userTarget(user));
  return read(ctx, user.id);
}

async function read(ctx: Context, userId: string): Promise<PreferenceRow[]> {
  const rows = (await ctx.rows(preferencesOf, userId)).flatMap((row) => {
    const template = templateWithId(row.templateId);
    return template ? [{ name: template.name, row: { ...row, disabledMethods: row.disabledMethods ?? [] } }] : [];
  });
  return rows.sort((one, other) => (one.name < other.name ? -1 : 1)).map(({ row }) => row);
}

const storeChoices = statement<{ templateId: string; method: DeliveryMethod; disabled: boolean }>(`
  insert into notification_preferences as p (user_id, template_id, method, is_disabled, updated_at)
  select $1, template_id, method, is_disabled, now()
  from unnest($2::uuid[], $3::boolean[]) as chosen (template_id, is_disabled), unnest($4::text[]) as method
  on conflict (user_id, template_id, method) do update
    set is_disabled = excluded.is_disabled, updated_at = excluded.updated_at
    where p.is_disabled <> excluded.is_disabled
  returning template_id as "templateId", method, is_disabled as disabled`);

/**
 * Stores choices of a user about templates; others stay as they are. Mandatory templates cannot be disabled: a choice
 * to do so is stored as the opposite. Returns the id of the user.
 */
export async function updateNotificationPreferences(
  ctx: Context,
  { user: ref, choices, method }: UpdatePreferences,
): Promise<string> {
  const user = await lockUser(ctx, ref);
  authorize(ctx.actor, "notification_preference:update", userTarget(user));
  const wanted = checked(choices);
  const changed = await ctx.rows(
    storeChoices,
    user.id,
    wanted.map(({ template }) => template.id),
    wanted.map(({ template, disabled }) => disabled && !template.isMandatory),
    method == null ? allMethods : [method],
  );
  const diff: Diff = {};
  for (const each of changed)
    diff[`${templateWithId(each.templateId)!.name} (${each.method})`] = { new: !each.disabled };
  if (changed.length > 0)
    ctx.audit({ action: "update", ...auditedAs("notification_preference", user.id, user.username), diff });
  return user.id;
}

/** Maximum number of choices: a multiple of the number of templates. */
const mostChoices = 100;

function checked(choices: UpdatePreferences["choices"]): Array<{ template: NotificationTemplate; disabled: boolean }> {
  const problems = new Problems();
  problems.add(
    "choices",
    !choices ? "Is required." : choices.length > mostChoices ? `Must be at most ${mostChoices} choices.` : undefined,
  );
  problems.throwIfAny();
  const wanted = new Map<string, { template: NotificationTemplate; disabled: boolean }>();
  for (const [index, { template: id, disabled }] of choices!.entries()) {
    const template = templateWithId(id.toLowerCase());
    if (template) wanted.set(template.id, { template, disabled });
    else problems.add(`choices[${index}]`, "Must be the id of a notification template.");
  }
  problems.throwIfAny();
  return [...wanted.values()];
}

/** The preferences of the user whose preferences were just updated, by this request. */
export const preferencesOfUser = read;
