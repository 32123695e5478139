import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { DeliveryMethod, readNotificationTemplate, type TemplateRow } from "../../domain/notifications/methods.js";
import {
  listNotificationPreferences,
  type PreferenceRow,
  preferencesOfUser,
  updateNotificationPreferences,
  Choice,
  UpdatePreferences,
} from "../../domain/notifications/preferences.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { NotificationTemplateType } from "./notification-templates.js";
import { inputType } from "../engine/inputs.js";

@Access({ readWith: "notification_preference:read", references: ["templateId"] })
@ObjectType("NotificationPreference", {
  simpleResolvers: true,
  description: "The choice of a user about the notifications of a template.",
})
export class NotificationPreferenceType implements PreferenceRow {
  @Field(() => UUID, { description: "ID of the template." }) templateId!: string;
  @Field({ description: "Whether the user does not receive them at all." }) disabled!: boolean;
  @Access({ countsAs: 3 })
  @Field(() => [DeliveryMethod], { description: "The methods by which the user does not receive them." })
  disabledMethods!: DeliveryMethod[];
  @Field(() => DateTime, { description: "When the user last decided." }) updatedAt!: string;
}

inputType("NotificationChoiceInput", Choice, {
  description: "A decision about the notifications of a template.",
  entryKey: "template",
});

export const UpdateNotificationPreferencesInput = inputType("UpdateNotificationPreferencesInput", UpdatePreferences);

@Resolver(() => NotificationPreferenceType)
export class NotificationPreferencesResolver {
  @FieldResolver(() => NotificationTemplateType, { description: "The template." })
  template(@Root() { templateId }: PreferenceRow, @Ctx() ctx: Context): Promise<TemplateRow> {
    return readNotificationTemplate(ctx, templateId);
  }

  @Access({ needs: ["notification_preference:read"], countsAs: 30 })
  @Query(() => [NotificationPreferenceType], {
    description: "Lists the templates about which a user decided, by name. For the user and owners.",
  })
  notificationPreferences(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<PreferenceRow[]> {
    return listNotificationPreferences(ctx, user);
  }

  @Access({ needs: ["notification_preference:update"] })
  @Mutates("Decides which notifications a user receives. For the user and owners.", {
    preferences: {
      type: () => [NotificationPreferenceType],
      description: "All decisions of the user, by name of the template.",
      covers: "everything",
      countsAs: 30,
    },
  })
  async updateNotificationPreferences(
    @Arg("input", () => UpdateNotificationPreferencesInput, { description: "The decisions." })
    input: UpdatePreferences,
    @Ctx() ctx: Context,
  ) {
    const userId = await updateNotificationPreferences(ctx, input);
    return { preferences: () => preferencesOfUser(ctx, userId) };
  }
}
