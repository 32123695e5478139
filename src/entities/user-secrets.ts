import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { User } from "./users.js";
import { longestPath } from "./lengths.js";

/** Maximum lengths of names, descriptions, and variables in characters, which the columns and the inputs have. */
export const secretLengths = { name: 255, description: 1024, variable: 256 } as const;

/** Named values that users store for their workspaces. */
export const UserSecretSchema = defineEntity({
  name: "UserSecret",
  tableName: "user_secrets",
  extends: BaseSchema,
  uniques: [
    {
      name: "user_secrets_name_unique",
      expression: `create unique index user_secrets_name_unique on user_secrets (user_id, name collate "C")`,
    },
    {
      name: "user_secrets_env_name_unique",
      expression:
        "create unique index user_secrets_env_name_unique on user_secrets (user_id, env_name) where env_name <> ''",
    },
    // A path can exceed the maximum size of an index entry. A hash collision only affects the user who created both.
    {
      name: "user_secrets_file_path_unique",
      expression:
        "create unique index user_secrets_file_path_unique on user_secrets (user_id, md5(file_path)) where file_path <> ''",
    },
  ],
  indexes: [{ name: "user_secrets_key_index", properties: ["key", "id"] }],
  properties: {
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    name: p.string().length(secretLengths.name),
    description: p.string().length(secretLengths.description).default(""),
    /** Environment variable; empty if none. */
    envName: p.string().length(secretLengths.variable).default(""),
    /** File path; empty if none. */
    filePath: p.string().length(longestPath).default(""),
    valueCiphertext: p.type("bytea").$type<Buffer>(),
    valueNonce: p.type("bytea").$type<Buffer>(),
    key: () => p.manyToOne(EncryptionKey).ref().index(false),
    /** Size of the plaintext in UTF-8. */
    valueBytes: p.integer(),
    lastDeliveredAt: moment().nullable(),
  },
});
export class UserSecret extends UserSecretSchema.class {}
UserSecretSchema.setClass(UserSecret);
