// A fast GraphQL server built from npm packages: fastify, mercurius with graphql-jit, prepared statements.
import fastify, { type FastifyRequest } from "fastify";
import mercurius from "mercurius";
import { type GroupRow, selectGroup } from "../floors/groups.js";
import { pool } from "../floors/serve.js";
import { checkSecret, type Session, sessionId } from "../floors/sessions.js";

const schema = `
  enum GroupSource { USER OIDC }
  type Organization { id: ID! name: String! displayName: String! }
  type Group {
    id: ID! name: String! displayName: String! avatarUrl: String! quotaAllowance: Int! source: GroupSource!
    totalMemberCount: Int! organization: Organization!
  }
  type Query { group(group: String!): Group! }`;

const selectSession = `
  select k.secret_hash
  from api_keys k join users s on s.id = k.user_id
  where k.id = $1 and k.expires_at > now() and s.status = 'active' and s.deleted_at is null`;

const resolvers = {
  Query: {
    group: async (_: unknown, { group }: { group: string }) =>
      (await pool.query<GroupRow>({ name: "group", text: selectGroup, values: [group] })).rows[0],
  },
  Group: {
    displayName: (group: GroupRow) => group.display_name,
    avatarUrl: (group: GroupRow) => group.avatar_url,
    quotaAllowance: (group: GroupRow) => group.quota_allowance,
    source: (group: GroupRow) => group.source.toUpperCase(),
    totalMemberCount: (group: GroupRow) => group.total_member_count,
    organization: (group: GroupRow) => ({
      id: group.organization_id,
      name: group.organization_name,
      displayName: group.organization_display_name,
    }),
  },
};

async function context({ raw }: FastifyRequest) {
  const { rows } = await pool.query<Session>({ name: "session", text: selectSession, values: [sessionId(raw)] });
  if (!rows[0]) throw new Error("unauthenticated");
  checkSecret(raw, rows[0].secret_hash);
  return {};
}

const app = fastify();
await app.register(mercurius, { schema, resolvers, context, jit: 1 });
console.log(await app.listen({ host: "127.0.0.1", port: 0 }));
