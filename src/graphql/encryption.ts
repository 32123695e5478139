import { Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { encryptedColumns } from "../domain/encryption/columns.js";
import {
  type EncryptedRows,
  type EncryptionKeyStatus,
  type EncryptionStatus,
  readEncryptionStatus,
} from "../domain/encryption/status.js";
import { CountsAs, Needs, ReadWith } from "./engine/access.js";

@ObjectType("EncryptedRows", { simpleResolvers: true, description: "How much of a table is encrypted with a key." })
class EncryptedRowsType implements EncryptedRows {
  @Field(() => String, { description: "The table." }) table!: string;
  @Field(() => Int, { description: "How many rows." }) count!: number;
}

@ObjectType("EncryptionKeyStatus", {
  simpleResolvers: true,
  description: "A key that this server has, or that something is encrypted with.",
})
class EncryptionKeyStatusType implements EncryptionKeyStatus {
  @Field(() => String, { description: "The id by which values refer to it." }) id!: string;
  @Field(() => Boolean, { description: "Whether this server has it." }) present!: boolean;
  @CountsAs(encryptedColumns.length)
  @Field(() => [EncryptedRowsType], { description: "What is encrypted with it, for every table." })
  rows!: EncryptedRows[];
}

@ReadWith("system:read")
@ObjectType("EncryptionStatus", { simpleResolvers: true, description: "Which keys encrypt what is in the database." })
class EncryptionStatusType implements EncryptionStatus {
  @Field(() => String, { nullable: true, description: "The key that writes." }) activeKeyId!: string | null;
  @Field(() => [EncryptionKeyStatusType], { description: "All keys." }) keys!: EncryptionKeyStatus[];
}

@Resolver()
export class EncryptionResolver {
  @Needs("system:read")
  @Query(() => EncryptionStatusType, { description: "Which keys encrypt what is in the database. For site owners." })
  encryptionStatus(@Ctx() ctx: Context): Promise<EncryptionStatus> {
    return readEncryptionStatus(ctx);
  }
}
