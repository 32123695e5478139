import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type NotificationTransports,
  readNotificationTransports,
  updateNotificationTransports,
  SmtpSettings,
  UpdateTransports,
  WebhookSettings,
} from "../../domain/notifications/transport-settings.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";

@ObjectType("NotificationTransportSecret", {
  simpleResolvers: true,
  description: "A secret of a transport, which is never shown.",
})
class NotificationTransportSecretType {
  @Field({ description: "Whether there is one." }) isSet!: boolean;
}

const locked =
  "Names of the fields that environment variables of the server set. Changing them is a CONFLICT: `host`, for example.";

@ObjectType("SmtpTransport", { simpleResolvers: true, description: "The mail server." })
class SmtpTransportType {
  @Field(() => String, { nullable: true, description: "Hostname; null if no mail is sent." }) host!: string | null;
  @Field(() => Int, { description: "Port. Port 465 implies TLS from the start of the connection." }) port!: number;
  @Field(() => String, { nullable: true, description: "Sender address." }) from!: string | null;
  @Field({ description: "Hostname that this server sends in EHLO." }) hello!: string;
  @Field(() => String, { nullable: true, description: "Username, sent only over TLS." }) username!: string | null;
  @Field({ description: "Password, sent only over TLS." })
  password!: NotificationTransportSecretType;
  @Field({ description: "Whether connections use TLS from the start, on any port." }) forceTls!: boolean;
  @Field({ description: "Whether mail is sent only over TLS, using STARTTLS if necessary." })
  requireTls!: boolean;
  @Access({ countsAs: 8 })
  @Field(() => [String], { description: locked })
  lockedFields!: string[];
}

@ObjectType("WebhookTransport", { simpleResolvers: true, description: "The receiver of webhooks." })
class WebhookTransportType {
  @Field(() => String, { nullable: true, description: "URL that notifications are posted to; null if none are." })
  url!: string | null;
  @Field({
    description: "The secrets that sign messages by the rules of Standard Webhooks.",
  })
  secret!: NotificationTransportSecretType;
  @Access({ countsAs: 2 })
  @Field(() => [String], { description: locked })
  lockedFields!: string[];
}

@Access({ readWith: "deployment_config:update" })
@ObjectType("NotificationTransports", {
  simpleResolvers: true,
  description: "The settings in effect that deliver notifications outside of inboxes.",
})
export class NotificationTransportsType {
  @Field(() => SmtpTransportType, { description: "The mail server." }) smtp!: NotificationTransports["smtp"];
  @Field(() => WebhookTransportType, { description: "The receiver of webhooks." })
  webhook!: NotificationTransports["webhook"];
}

const rule = "Absent: unchanged. Null: the default.";

inputType("SmtpTransportInput", SmtpSettings, { description: `Settings of the mail server. ${rule}` });

inputType("WebhookTransportInput", WebhookSettings, { description: `Settings of the receiver of webhooks. ${rule}` });

export const UpdateNotificationTransportsInput = inputType("UpdateNotificationTransportsInput", UpdateTransports);

@Resolver()
export class NotificationTransportsResolver {
  @Access({ needs: ["deployment_config:update"] })
  @Query(() => NotificationTransportsType, { description: "Returns how notifications are delivered. For owners." })
  notificationTransports(@Ctx() ctx: Context): Promise<NotificationTransports> {
    return readNotificationTransports(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Changes how notifications are delivered, on all replicas. Secrets are stored encrypted.", {
    notificationTransports: { type: () => NotificationTransportsType, description: "The settings after the update." },
    webhookSecret: {
      type: () => String,
      nullable: true,
      description: "The secret that this update generated; null if none. It cannot be read again.",
    },
  })
  async updateNotificationTransports(
    @Arg("input", () => UpdateNotificationTransportsInput, { description: "The changes." })
    input: UpdateTransports,
    @Ctx() ctx: Context,
  ) {
    const { webhookSecret } = await updateNotificationTransports(ctx, input);
    return { notificationTransports: () => readNotificationTransports(ctx), webhookSecret };
  }
}
