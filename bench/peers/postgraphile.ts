// PostGraphile, as it ships for production: plans and documents cached, statements prepared, no explain. It reads only,
// and checks no session: its responses are those that Steward gives an owner.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/node";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { makePgSmartTagsPlugin } from "postgraphile/utils";

const tags = makePgSmartTagsPlugin([
  // A membership refers to its user by way of the organization; this spares PostGraphile a join.
  { kind: "class", match: "group_members", tags: { foreignKey: "(user_id) references users (id)" } },
  // Else it would have the name of the table that it is a partition of.
  { kind: "class", match: "connection_logs", tags: { name: "first_connections" } },
]);

const pgl = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [tags],
  pgServices: [
    makePgService({ connectionString: process.env.BENCH_DATABASE_URL!, schemas: ["public"], poolConfig: { max: 20 } }),
  ],
  schema: { defaultBehavior: "-insert -update -delete" },
  grafast: { explain: false },
  grafserv: { graphqlPath: "/graphql", graphiql: false, watch: false },
});
const server = createServer();
await pgl.createServ(grafserv).addTo(server);
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
