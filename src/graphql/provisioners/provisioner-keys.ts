import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type DaemonJob,
  daemonsOfKeys,
  deleteProvisionerDaemon,
  jobsOfDaemons,
  listProvisionerDaemons,
  type ProvisionerDaemonRow,
  ProvisionerDaemonStatus,
  DeleteProvisionerDaemon,
} from "../../domain/provisioners/daemons.js";
import { ProvisionerJobStatus } from "../../domain/provisioners/provisioner-jobs.js";
import {
  createProvisionerKey,
  deleteProvisionerKey,
  endFormerSecret,
  type FormerSecret,
  formerSecretOf,
  listKeysOfDaemons,
  listProvisionerKeys,
  type ProvisionerKeyRow,
  provisionerKeysByIds,
  rotateProvisionerKey,
  CreateProvisionerKey,
  KeyReference,
  RotateProvisionerKey,
} from "../../domain/provisioners/provisioner-keys.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { DateTime, JSONObject, UUID } from "../engine/scalars.js";
import "./provisioner-jobs.js";
import { inputType } from "../engine/inputs.js";

enumType({ ProvisionerDaemonStatus }, "The state of a provisioner daemon.", {
  OFFLINE: "It was not seen for 90 seconds.",
  IDLE: "It waits for work.",
  BUSY: "It works on a job.",
});

@ObjectType("ProvisionerDaemonJob", { simpleResolvers: true, description: "A job of a provisioner daemon." })
class ProvisionerDaemonJobType implements DaemonJob {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => ProvisionerJobStatus, { description: "Its state." }) status!: ProvisionerJobStatus;
  @Field({ description: "Name of the template." }) templateName!: string;
  @Field({ description: "Display name of the template." }) templateDisplayName!: string;
  @Field({ description: "Icon of the template." }) templateIcon!: string;
}

@ObjectType("ProvisionerKeyFormerSecret", {
  simpleResolvers: true,
  description: "The secret of a provisioner key before its rotation, which daemons may still use.",
})
class ProvisionerKeyFormerSecretType implements FormerSecret {
  @Field(() => DateTime, {
    description: "When it ends. The sockets of daemons that use it are closed then, with the code 4403.",
  })
  endsAt!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When a daemon last used it, accurate to a minute; null if none has.",
  })
  lastUsedAt!: string | null;
}

@Access({ readWith: "provisioner_key:read", references: ["id", "name"] })
@ObjectType("ProvisionerKey", {
  simpleResolvers: true,
  description: "A key with which provisioner daemons connect. Its secret is never returned.",
})
class ProvisionerKeyType implements Omit<ProvisionerKeyRow, "formerSecretEndsAt" | "formerSecretUsedAt"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => UUID, { description: "ID of the organization whose jobs its daemons take." }) organizationId!: string;
  @Field({ description: "Name, unique in the organization in any letter case." }) name!: string;
  @Field(() => JSONObject, { description: "Tags of its daemons, values by key." }) tags!: Record<string, string>;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it got its present secret; null if at its creation." })
  rotatedAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "When a daemon last used its present secret, accurate to a minute; null if none has.",
  })
  lastUsedAt!: string | null;
}

@Access({ readWith: "provisioner_daemon:read", references: ["id"] })
@ObjectType("ProvisionerDaemon", {
  simpleResolvers: true,
  description: "A program that works on provisioner jobs. It is deleted when it was not seen for 7 days.",
})
class ProvisionerDaemonObject implements ProvisionerDaemonRow {
  @Field(() => UUID, { description: "Unique ID, which it keeps when it connects again with the same name." })
  id!: string;
  @Field(() => UUID, { description: "ID of the organization whose jobs it takes." }) organizationId!: string;
  @Field({ description: "Its name." }) name!: string;
  @Field(() => UUID, {
    nullable: true,
    description: "ID of the user with whose session it connected; null with a key.",
  })
  userId!: string | null;
  @Field(() => UUID, {
    description:
      "ID of the key it connected with: a reserved one for daemons of users and the one inside of the server.",
  })
  keyId!: string;
  @Field({ description: "Name of that key." }) keyName!: string;
  @Field(() => [String], { description: "Provisioners that it offers, such as `echo`." }) provisioners!: string[];
  @Field(() => JSONObject, { description: "Its tags, values by key." }) tags!: Record<string, string>;
  @Field({ description: "Version of its program; empty if it did not send one." }) version!: string;
  @Field({ description: "Version of the protocol that it speaks." }) apiVersion!: string;
  @Field(() => DateTime, { description: "When it first connected." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last heard of." }) lastSeenAt!: string;
  @Field(() => ProvisionerDaemonStatus, { description: "The state of the daemon." }) status!: ProvisionerDaemonStatus;
}

@ObjectType("ProvisionerKeyDaemons", {
  description: "A provisioner key, which may be a reserved one, and its daemons.",
})
class ProvisionerKeyDaemonsType {
  @Access({ covers: "everything" })
  @Field(() => ProvisionerKeyType, { description: "The key." })
  key(@Root() key: ProvisionerKeyRow): ProvisionerKeyRow {
    return key;
  }

  @Access({ countsAs: 20, covers: "everything" })
  @Field(() => [ProvisionerDaemonObject], { description: "Its daemons by name, offline ones included." })
  daemons(@Root() key: ProvisionerKeyRow, @Ctx() ctx: Context): Promise<ProvisionerDaemonRow[]> {
    return ctx.load(daemonsOfKeys, key);
  }
}

const CreateProvisionerKeyInput = inputType("CreateProvisionerKeyInput", CreateProvisionerKey);

const DeleteProvisionerKeyInput = inputType("DeleteProvisionerKeyInput", KeyReference);

const RotateProvisionerKeyInput = inputType("RotateProvisionerKeyInput", RotateProvisionerKey);

const EndProvisionerKeyFormerSecretInput = inputType("EndProvisionerKeyFormerSecretInput", KeyReference);

const DeleteProvisionerDaemonInput = inputType("DeleteProvisionerDaemonInput", DeleteProvisionerDaemon);

@Resolver(() => ProvisionerKeyType)
export class ProvisionerKeysResolver {
  @Access({ needs: ["provisioner_key:read"], countsAs: 100 })
  @Query(() => [ProvisionerKeyType], { description: "Lists the provisioner keys of an organization by creation." })
  provisionerKeys(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<ProvisionerKeyRow[]> {
    return listProvisionerKeys(ctx, organization);
  }

  @Access({ needs: ["provisioner_key:read", "provisioner_daemon:read"], countsAs: 100 })
  @Query(() => [ProvisionerKeyDaemonsType], {
    description:
      "Lists the provisioner keys of an organization with their daemons, and the reserved keys `built-in` and `user-auth`, which have no secret.",
  })
  provisionerKeyDaemons(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<ProvisionerKeyRow[]> {
    return listKeysOfDaemons(ctx, organization);
  }

  @FieldResolver(() => ProvisionerKeyFormerSecretType, {
    nullable: true,
    description: "The secret that it had before the last rotation, while that is valid as well; null otherwise.",
  })
  formerSecret(@Root() key: ProvisionerKeyRow): FormerSecret | null {
    return formerSecretOf(key);
  }

  @Access({ needs: ["provisioner_key:create"] })
  @Mutates("Creates a key with which provisioner daemons connect. Fails with CONFLICT if the name is taken.", {
    provisionerKey: { type: () => ProvisionerKeyType, description: "The new key.", covers: "everything" },
    key: { type: () => String, description: "The key that daemons send. Returned only once." },
  })
  async createProvisionerKey(
    @Arg("input", () => CreateProvisionerKeyInput, { description: "The new key." }) input: CreateProvisionerKey,
    @Ctx() ctx: Context,
  ) {
    const { id, key } = await createProvisionerKey(ctx, input);
    return { provisionerKey: () => ctx.load(provisionerKeysByIds, id), key };
  }

  @Access({ needs: ["provisioner_key:create"] })
  @Mutates(
    "Gives a provisioner key a new secret. The former one stays valid for a time, in which daemons are restarted with the new one. Fails with CONFLICT while the secret before it is valid.",
    {
      provisionerKey: { type: () => ProvisionerKeyType, description: "The key.", covers: "everything" },
      key: { type: () => String, description: "The key that daemons send from now on. Returned only once." },
    },
  )
  async rotateProvisionerKey(
    @Arg("input", () => RotateProvisionerKeyInput, { description: "The key, and the overlap." })
    input: RotateProvisionerKey,
    @Ctx() ctx: Context,
  ) {
    const { id, key } = await rotateProvisionerKey(ctx, input);
    return { provisionerKey: () => ctx.load(provisionerKeysByIds, id), key };
  }

  @Access({ needs: ["provisioner_key:delete"] })
  @Mutates(
    "Ends the secret that a provisioner key had before its rotation: the sockets of daemons that use it are closed. Has no effect if it has ended.",
    { provisionerKey: { type: () => ProvisionerKeyType, description: "The key.", covers: "everything" } },
  )
  async endProvisionerKeyFormerSecret(
    @Arg("input", () => EndProvisionerKeyFormerSecretInput, { description: "The key." }) input: KeyReference,
    @Ctx() ctx: Context,
  ) {
    const id = await endFormerSecret(ctx, input);
    return { provisionerKey: () => ctx.load(provisionerKeysByIds, id) };
  }

  @Access({ needs: ["provisioner_key:delete"] })
  @Mutates("Deletes a key with its daemons: their sockets are closed, and the jobs that they run fail.", {
    provisionerKey: {
      type: () => ProvisionerKeyType,
      description: "The key before its deletion.",
      covers: "everything",
    },
  })
  async deleteProvisionerKey(
    @Arg("input", () => DeleteProvisionerKeyInput, { description: "The key to delete." })
    input: KeyReference,
    @Ctx() ctx: Context,
  ) {
    return { provisionerKey: await deleteProvisionerKey(ctx, input) };
  }
}

@Resolver(() => ProvisionerDaemonObject)
export class ProvisionerDaemonsResolver {
  @Access({ needs: ["provisioner_daemon:read"], countsAs: 100 })
  @Query(() => [ProvisionerDaemonObject], {
    description: "Lists the provisioner daemons of an organization by name, offline ones included.",
  })
  provisionerDaemons(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<ProvisionerDaemonRow[]> {
    return listProvisionerDaemons(ctx, organization);
  }

  @FieldResolver(() => ProvisionerDaemonJobType, {
    nullable: true,
    description: "The oldest job that it works on; null if it does not work.",
  })
  async currentJob(@Root() { id }: ProvisionerDaemonRow, @Ctx() ctx: Context): Promise<DaemonJob | null> {
    return (await ctx.load(jobsOfDaemons, id)).current;
  }

  @FieldResolver(() => ProvisionerDaemonJobType, {
    nullable: true,
    description: "The last job that ended with it; null if there is none.",
  })
  async previousJob(@Root() { id }: ProvisionerDaemonRow, @Ctx() ctx: Context): Promise<DaemonJob | null> {
    return (await ctx.load(jobsOfDaemons, id)).previous;
  }

  @Access({ needs: ["provisioner_key:delete"] })
  @Mutates(
    "Deletes a provisioner daemon: its socket is closed, and the jobs that it runs fail. It may connect again.",
    {
      provisionerDaemon: {
        type: () => ProvisionerDaemonObject,
        description: "The daemon before its deletion.",
        covers: "everything",
      },
    },
  )
  async deleteProvisionerDaemon(
    @Arg("input", () => DeleteProvisionerDaemonInput, { description: "The daemon to delete." })
    { id }: DeleteProvisionerDaemon,
    @Ctx() ctx: Context,
  ) {
    return { provisionerDaemon: await deleteProvisionerDaemon(ctx, id) };
  }
}
