import { Arg, Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  readUnsubscription,
  unsubscribe,
  UnsubscribeFromNotification,
  type Unsubscription,
  UnsubscriptionQuery,
} from "../../domain/notifications/unsubscribing.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

@ObjectType("NotificationUnsubscription", { description: "The mails that a link in a mail turns off." })
export class NotificationUnsubscriptionType {
  template!: Unsubscription["template"];

  @Field(() => String, { description: "Name of the notification template." })
  templateName(): string {
    return this.template.name;
  }
}

export const UnsubscribeFromNotificationInput = inputType(
  "UnsubscribeFromNotificationInput",
  UnsubscribeFromNotification,
);

const UnsubscriptionArgs = argumentsOf(UnsubscriptionQuery);

@Resolver()
export class UnsubscribingResolver {
  @Access({
    open: true,
    tries: { secrets: "tokens", accountOf: () => "unsubscription" },
  })
  @Query(() => NotificationUnsubscriptionType, {
    nullable: true,
    description: "Returns what the link of a mail turns off. NOT_FOUND if its token is invalid or has expired.",
  })
  notificationUnsubscription(
    @Args(() => UnsubscriptionArgs) { token }: UnsubscriptionQuery,
    @Ctx() ctx: Context,
  ): Promise<Unsubscription> {
    return readUnsubscription(ctx, token);
  }

  @Access({ open: true, tries: { secrets: "tokens", accountOf: () => "unsubscription" } })
  @Mutates(
    "Turns off the mails of a notification template for the user to whom a mail was sent, by the token of the link in it. Works without signing in, for 180 days.",
    {
      unsubscription: { type: () => NotificationUnsubscriptionType, description: "The mails that are turned off." },
    },
  )
  async unsubscribeFromNotification(
    @Arg("input", () => UnsubscribeFromNotificationInput, { description: "The token." })
    { token }: UnsubscribeFromNotification,
    @Ctx() ctx: Context,
  ) {
    return { unsubscription: await unsubscribe(ctx, token) };
  }
}
