import { sql } from "kysely";
import { auditedAs } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import type { NotificationTemplate } from "./templates/template.js";
import { templates, templateWithId } from "./templates/all-templates.js";
import { choice, inputOf, type Input, optional, required, uuid } from "../kernel/values.js";

/** How notifications reach users. The inbox is part of the server; the others need a configured receiver. */
export const DeliveryMethod = { SMTP: "smtp", WEBHOOK: "webhook", INBOX: "inbox" } as const;
export type DeliveryMethod = (typeof DeliveryMethod)[keyof typeof DeliveryMethod];

/** The methods other than the inbox. */
export type Transport = Exclude<DeliveryMethod, "inbox">;

export const allTransports: readonly Transport[] = ["smtp", "webhook"];

/** The methods of this deployment. */
export interface NotificationMethods {
  /** Those that can be chosen besides the inbox. */
  available: readonly Transport[];
  /** Those that can deliver. */
  configured: readonly DeliveryMethod[];
  /** Used in addition to the inbox unless another one is chosen for a template. */
  default: Transport;
}

export const notificationMethods = ({ services, config }: Context): NotificationMethods => ({
  available: allTransports,
  configured: [...allTransports.filter((method) => services.transports[method]), "inbox"],
  default: config.notificationsMethod,
});

/** The method besides the inbox: the one chosen for the template or else the default, whichever is configured. */
export function transportFor({ services, config }: Context, chosen: DeliveryMethod | null): Transport | undefined {
  if (chosen === "inbox") return undefined;
  const wanted = chosen === null ? [config.notificationsMethod] : [chosen, config.notificationsMethod];
  return wanted.find((method) => services.transports[method] !== undefined);
}

/** The methods that owners chose for templates. */
const chosenMethods = ({ db }: Context) =>
  db.selectFrom("notificationTemplateMethods").select(["templateId", "method"]);

/** Returns the method besides the inbox by which the notifications of a template are delivered, if any. */
export async function transportOf(ctx: Context, { id }: NotificationTemplate): Promise<Transport | undefined> {
  const chosen = await chosenMethods(ctx).where("templateId", "=", id).executeTakeFirst();
  return transportFor(ctx, chosen?.method ?? null);
}

/** A template with the method that an owner chose for it. */
export interface TemplateRow extends NotificationTemplate {
  method: DeliveryMethod | null;
}

/** Lists the templates of a kind, or all, by name. */
export async function listNotificationTemplates(
  ctx: Context,
  kind?: NotificationTemplate["kind"] | null,
): Promise<TemplateRow[]> {
  authorize(ctx.actor, "notification_template:read");
  const chosen = new Map((await chosenMethods(ctx).execute()).map(({ templateId, method }) => [templateId, method]));
  return templates
    .filter((template) => kind == null || template.kind === kind)
    .map((template) => ({ ...template, method: chosen.get(template.id) ?? null }));
}

/** Batch read of templates by ID, for `ctx.load`. */
async function templatesById(ctx: Context, ids: readonly string[]): Promise<Array<TemplateRow | undefined>> {
  const found = new Map((await listNotificationTemplates(ctx)).map((template) => [template.id, template]));
  return ids.map((id) => found.get(id));
}

/** Reads a template. Throws NOT_FOUND. */
export async function readNotificationTemplate(ctx: Context, id: string): Promise<TemplateRow> {
  const found = await ctx.load(templatesById, id);
  if (!found) throw notFound();
  return found;
}

export const UpdateNotificationTemplateMethod = inputOf({
  template: required(uuid, "The template."),
  method: optional(
    choice(DeliveryMethod),
    "The method to use in addition to the inbox, `INBOX` for the inbox alone, null for the default. A method that is not configured is replaced by the default.",
  ),
});
export type UpdateNotificationTemplateMethod = Input<typeof UpdateNotificationTemplateMethod>;

/** Chooses the method of a template; null returns to the default. `changed` is false if it was the same. */
export async function updateNotificationTemplateMethod(
  ctx: Context,
  { template: id, method = null }: { template: string; method?: DeliveryMethod | null },
): Promise<{ templateId: string; changed: boolean }> {
  authorize(ctx.actor, "notification_template:update");
  const template = templateWithId(id);
  if (!template) throw notFound();
  const former = await (method === null ? clearMethod(ctx, id) : chooseMethod(ctx, id, method));
  const changed = former !== method;
  if (changed) {
    const diff = { method: { old: former, new: method } };
    ctx.audit({ action: "update", ...auditedAs("notification_template", id, template.name), diff });
  }
  return { templateId: id, changed };
}

async function clearMethod({ db }: Context, templateId: string): Promise<DeliveryMethod | null> {
  const methods = db.deleteFrom("notificationTemplateMethods").where("templateId", "=", templateId);
  return (await methods.returning("method").executeTakeFirst())?.method ?? null;
}

/** Returns the former method: the row keeps it, so that one statement atomically replaces and returns it. */
async function chooseMethod({ db }: Context, templateId: string, method: DeliveryMethod): Promise<string | null> {
  const { former } = await db
    .insertInto("notificationTemplateMethods")
    .values({ templateId, method })
    .onConflict((conflict) =>
      conflict.column("templateId").doUpdateSet({ method, former: sql`notification_template_methods.method` }),
    )
    .returning("former")
    .executeTakeFirstOrThrow();
  return former;
}
