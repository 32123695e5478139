// The stock stack, used as in its tutorials: Apollo Server, type-graphql, and MikroORM's `em.find`.
import "reflect-metadata";
import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { type EntityManager, MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import {
  Arg,
  buildSchema,
  Ctx,
  Field,
  FieldResolver,
  ID,
  Int,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import { Group, GroupMember } from "../../src/entities/groups.js";
import { entities } from "../../src/entities/index.js";
import { Organization } from "../../src/entities/organizations.js";
import { ApiKey } from "../../src/entities/tokens.js";
import { checkSecret, sessionId } from "../floors/sessions.js";

interface StockContext {
  em: EntityManager;
}

enum GroupSource {
  USER = "user",
  OIDC = "oidc",
}
registerEnumType(GroupSource, { name: "GroupSource" });

@ObjectType("Organization")
class OrganizationObject {
  @Field(() => ID) id!: string;
  @Field(() => String) name!: string;
  @Field(() => String) displayName!: string;
}

@ObjectType("Group")
class GroupObject {
  @Field(() => ID) id!: string;
  @Field(() => String) name!: string;
  @Field(() => String) displayName!: string;
  @Field(() => String) avatarUrl!: string;
  @Field(() => Int) quotaAllowance!: number;
  @Field(() => GroupSource) source!: GroupSource;
}

@Resolver(() => GroupObject)
class GroupResolver {
  @Query(() => GroupObject)
  async group(@Arg("group", () => String) id: string, @Ctx() { em }: StockContext) {
    const [group] = await em.find(Group, { id }, { populate: ["organization"] });
    return group;
  }

  @FieldResolver(() => Int)
  totalMemberCount(@Root() group: GroupObject, @Ctx() { em }: StockContext) {
    const user = { deletedAt: null, isSystem: false };
    return em.count(GroupMember, { group: group.id, membership: { user } });
  }

  @FieldResolver(() => OrganizationObject)
  organization(@Root() group: GroupObject & Pick<Group, "organization">): Promise<Organization> {
    return group.organization.loadOrFail();
  }
}

const orm = new MikroORM({
  clientUrl: process.env.BENCH_DATABASE_URL!,
  entities,
  namingStrategy: UnderscoreNamingStrategy,
  forceUtcTimezone: true,
  ensureDatabase: false,
  pool: { max: 20 },
});
const server = new ApolloServer<StockContext>({ schema: await buildSchema({ resolvers: [GroupResolver] }) });
const { url } = await startStandaloneServer(server, {
  listen: { host: "127.0.0.1", port: 0 },
  context: async ({ req }) => {
    const em = orm.em.fork();
    const [key] = await em.find(ApiKey, { id: sessionId(req) }, { populate: ["user"] });
    if (!key) throw new Error("unauthenticated");
    if (key.expiresAt < new Date()) throw new Error("unauthenticated");
    checkSecret(req, key.secretHash);
    return { em };
  },
});
console.log(url);
