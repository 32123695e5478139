import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  DeliveryMethod,
  listNotificationTemplates,
  notificationMethods,
  type NotificationMethods,
  readNotificationTemplate,
  type TemplateRow,
  updateNotificationTemplateMethod,
  UpdateNotificationTemplateMethod,
} from "../../domain/notifications/methods.js";
import {
  type NotificationSettings,
  readNotificationSettings,
  updateNotificationSettings,
  UpdateNotificationSettings,
} from "../../domain/notifications/notification-settings.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";

enumType({ NotificationDeliveryMethod: DeliveryMethod }, "How notifications reach users.", {
  SMTP: "By email.",
  WEBHOOK: "By a signed request to the webhook of the deployment.",
  INBOX: "In the inbox of the user.",
});

/** The kinds of templates. */
const TemplateKind = { SYSTEM: "system", CUSTOM: "custom" } as const;

enumType({ NotificationTemplateKind: TemplateKind }, "Kind of a notification template.", {
  SYSTEM: "Sent by the server about events.",
  CUSTOM: "Sent with the texts of a user.",
});

@Access({ readWith: "notification_template:read", references: ["id", "name"] })
@ObjectType("NotificationTemplate", {
  simpleResolvers: true,
  description: "The texts and rules of one kind of notification. Only its method can be changed.",
})
export class NotificationTemplateType {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name." }) name!: string;
  @Field({ description: "The heading under which clients list it." }) group!: string;
  @Field(() => TemplateKind, { description: "Kind." }) kind!: TemplateRow["kind"];
  @Field({ description: "Title: Liquid that renders to one line of Markdown." }) title!: string;
  @Field({ description: "Body: Liquid that renders to Markdown." }) body!: string;
  @Field({ description: "Links: Liquid that renders to a JSON array of objects with `label` and `url`." })
  actions!: string;
  @Field({ description: "Who receives it." }) recipients!: string;
  @Access({ countsAs: 4 })
  @Field(() => [String], { description: "Names of the labels that the texts use." })
  labels!: string[];
  @Field(() => DeliveryMethod, {
    nullable: true,
    description: "The method that an owner chose instead of the default; null if none.",
  })
  method!: DeliveryMethod | null;
}

@ObjectType("NotificationMethods", {
  simpleResolvers: true,
  description: "The ways in which notifications reach users of this deployment.",
})
class NotificationMethodsType implements NotificationMethods {
  @Access({ countsAs: 2 })
  @Field(() => [DeliveryMethod], { description: "The methods besides the inbox that can be chosen." })
  available!: NotificationMethods["available"];
  @Access({ countsAs: 3 })
  @Field(() => [DeliveryMethod], { description: "The methods that can deliver." })
  configured!: DeliveryMethod[];
  @Field(() => DeliveryMethod, {
    description: "The method that is used in addition to the inbox, unless another one is chosen for a template.",
  })
  default!: NotificationMethods["default"];
}

@ObjectType("NotificationSettings", { simpleResolvers: true, description: "Settings of notifications." })
class NotificationSettingsType implements NotificationSettings {
  @Field({
    description: "Whether delivery outside of inboxes is paused. Messages wait, and are delivered when the pause ends.",
  })
  notifierPaused!: boolean;
}

export const UpdateNotificationSettingsInput = inputType("UpdateNotificationSettingsInput", UpdateNotificationSettings);

export const UpdateNotificationTemplateMethodInput = inputType(
  "UpdateNotificationTemplateMethodInput",
  UpdateNotificationTemplateMethod,
);

@Resolver(() => NotificationTemplateType)
export class NotificationTemplatesResolver {
  @FieldResolver(() => Boolean, { description: "Whether users receive it unless they disable it." })
  enabledByDefault(@Root() template: TemplateRow): boolean {
    return !template.isOffByDefault;
  }

  @FieldResolver(() => Boolean, { description: "Whether users receive it even if they disable it." })
  mandatory(@Root() template: TemplateRow): boolean {
    return template.isMandatory ?? false;
  }

  @Access({ needs: ["notification_template:read"], countsAs: 30 })
  @Query(() => [NotificationTemplateType], { description: "Lists the notification templates by name." })
  notificationTemplates(
    @Arg("kind", () => TemplateKind, { nullable: true, description: "Returns only templates of this kind." })
    kind: TemplateRow["kind"] | null,
    @Ctx() ctx: Context,
  ): Promise<TemplateRow[]> {
    return listNotificationTemplates(ctx, kind);
  }

  @Access({ needs: ["notification_template:read"] })
  @Query(() => NotificationTemplateType, { nullable: true, description: "Returns a notification template." })
  notificationTemplate(
    @Arg("id", () => UUID, { description: "ID of the template." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<TemplateRow> {
    return readNotificationTemplate(ctx, id);
  }

  @Access({ anyScope: true })
  @Query(() => NotificationMethodsType, { description: "Returns the ways in which notifications reach users." })
  notificationMethods(@Ctx() ctx: Context): NotificationMethods {
    return notificationMethods(ctx);
  }

  @Access({ anyScope: true })
  @Query(() => NotificationSettingsType, { description: "Returns the settings of notifications." })
  notificationSettings(@Ctx() ctx: Context): Promise<NotificationSettings> {
    return readNotificationSettings(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Replaces the settings of notifications.", {
    notificationSettings: { type: () => NotificationSettingsType, description: "The settings after the update." },
    changed: { type: () => Boolean, description: "Whether the update changed any setting." },
  })
  updateNotificationSettings(
    @Arg("input", () => UpdateNotificationSettingsInput, { description: "The new settings." })
    input: UpdateNotificationSettings,
    @Ctx() ctx: Context,
  ) {
    return updateNotificationSettings(ctx, input);
  }

  @Access({ needs: ["notification_template:update"] })
  @Mutates("Chooses how the notifications of a template are delivered.", {
    template: { type: () => NotificationTemplateType, description: "The template.", covers: "everything" },
    changed: { type: () => Boolean, description: "Whether the method changed." },
  })
  async updateNotificationTemplateMethod(
    @Arg("input", () => UpdateNotificationTemplateMethodInput, { description: "The template and the method." })
    input: UpdateNotificationTemplateMethod,
    @Ctx() ctx: Context,
  ) {
    const { templateId, changed } = await updateNotificationTemplateMethod(ctx, input);
    return { template: () => readNotificationTemplate(ctx, templateId), changed };
  }
}
