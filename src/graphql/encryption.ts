import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { encryptedColumns } from "../domain/encryption/columns.js";
import {
  type EncryptedRows,
  type EncryptionKeyStatus,
  type EncryptionStatus,
  readEncryptionStatus,
} from "../domain/encryption/encryption-status.js";
import { mostCounted } from "../domain/kernel/lists.js";
import { Access } from "./engine/access.js";

@ObjectType("EncryptedRows", {
  simpleResolvers: true,
  description: "Number of values in a table that are encrypted with a key.",
})
class EncryptedRowsType implements EncryptedRows {
  @Field({ description: "Name of the table." }) table!: string;
  @Field(() => Int, {
    description: `Number of values. Counting stops at ${mostCounted} unless \`exact\` is set: ${mostCounted} means at least that many.`,
  })
  count!: number;
}

@ObjectType("EncryptionKeyStatus", {
  simpleResolvers: true,
  description: "An encryption key that this server has, or that stored values refer to.",
})
class EncryptionKeyStatusType implements EncryptionKeyStatus {
  @Field({ description: "ID by which encrypted values refer to the key." }) id!: string;
  @Field({ description: "Whether this server has the key." }) present!: boolean;
  @Access({ countsAs: encryptedColumns.length })
  @Field(() => [EncryptedRowsType], { description: "Values encrypted with the key, by table." })
  rows!: EncryptedRows[];
}

@Access({ readWith: "system:read" })
@ObjectType("EncryptionStatus", {
  simpleResolvers: true,
  description: "The encryption keys in use and the data encrypted with each of them.",
})
class EncryptionStatusType implements EncryptionStatus {
  @Field(() => String, {
    nullable: true,
    description: "ID of the key that encrypts new values; null if encryption is not configured.",
  })
  activeKeyId!: string | null;
  @Field(() => [EncryptionKeyStatusType], {
    description: "All keys that this server has or that stored values refer to.",
  })
  keys!: EncryptionKeyStatus[];
}

@Resolver()
export class EncryptionResolver {
  @Access({ needs: ["system:read"] })
  @Query(() => EncryptionStatusType, {
    description:
      "Returns the encryption keys in use and the data encrypted with each of them. Requires the owner role.",
  })
  encryptionStatus(
    @Ctx() ctx: Context,
    @Arg("exact", {
      defaultValue: false,
      description: "Counts all values, which takes time in proportion to their number.",
    })
    isExact: boolean,
  ): Promise<EncryptionStatus> {
    return readEncryptionStatus(ctx, isExact);
  }
}
