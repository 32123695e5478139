// Long lists are completed and serialized in slices, so that a large response does not block the process.
// Looks inside: no response shows whether it was made in slices.
import { expect } from "chai";
import { buildSchema, type ExecutionResult, GraphQLError, parse } from "graphql";
import type { Context } from "../../src/domain/kernel/context.js";
import { DomainError } from "../../src/domain/kernel/errors.js";
import { prepare } from "../../src/graphql/engine/execute.js";
import { isLarger, paceConnections } from "../../src/graphql/engine/result.js";
import { joinPieces, jsonPieces, pieceLength } from "../../src/http/large-responses.js";
import { world } from "../support/world.js";

/** Counts the turns of the event loop while `work` runs. */
async function turnsDuring(work: () => unknown): Promise<number> {
  let turns = 0;
  let isDone = false;
  const tick = () => {
    turns++;
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isDone = true;
  return turns;
}

/** Blocks the process for some milliseconds. */
function busyFor(milliseconds: number): true {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
  return true;
}

describe("large responses", () => {
  const w = world();

  it("are serialized in pieces between turns of the event loop, and small ones in a single piece", async () => {
    const nodes = Array.from({ length: 5000 }, (_, n) => ({ n, text: `"é" ${n}`, absent: undefined, list: [n, null] }));
    const large = { errors: undefined, data: { none: null, groups: { nodes, edges: [], count: nodes.length } } };
    expect(String(await joinPieces(jsonPieces(large)))).to.equal(JSON.stringify(large));
    const slow = { toJSON: () => busyFor(20) && "x".repeat(pieceLength) };
    expect(await turnsDuring(() => joinPieces(jsonPieces({ data: [slow, slow, slow, slow] })))).to.be.at.least(3);
    for (const small of [{ data: { groups: { nodes: [] } } }, { data: null }, { data: {} }, { a: [nodes[0], "b"] }])
      expect(joinPieces(jsonPieces(small))).to.equal(JSON.stringify(small));
  });

  for (const isStored of [true, false]) {
    it(`are completed in slices, ${isStored ? "compiled" : "interpreted"}`, async () => {
      const schema = buildSchema(`
        type Query { items: ItemConnection! }
        type ItemConnection { nodes: [Item!]! edges: [Edge!]! }
        type Edge { node: Item! }
        type Item { n: Int! inner: ItemConnection! }`);
      const pageOf = (items: unknown[]) => ({ nodes: items, edges: items.map((node) => ({ node })) });
      const items = Array.from({ length: 500 }, (_, n) => ({ n, inner: pageOf([{ n }]) }));
      schema.getQueryType()!.getFields().items!.extensions = { open: true };
      schema.getQueryType()!.getFields().items!.resolve = () => pageOf(items);
      const connection = schema.getType("ItemConnection") as ReturnType<typeof schema.getQueryType>;
      connection!.getFields().edges!.resolve = ({ edges }: ReturnType<typeof pageOf>) => edges;
      paceConnections(schema);
      const document = parse("{ items { nodes { n inner { nodes { n } } } edges { node { n } } } }");
      let result: ExecutionResult = {};
      const turns = await turnsDuring(
        async () =>
          (result = await prepare(schema, document, undefined, { isStored })
            .admit({ request: {} } as Context)
            .run({})),
      );
      expect(turns).to.be.at.least(10);
      expect(JSON.stringify(result.data)).to.equal(
        JSON.stringify({
          items: {
            nodes: items.map(({ n }) => ({ n, inner: { nodes: [{ n }] } })),
            edges: items.map(({ n }) => ({ node: { n } })),
          },
        }),
      );
    });
  }

  it("have every item in order over REST and GraphQL, and the right content length", async () => {
    await w().app.services.database.pool.query(
      `insert into groups (id, created_at, updated_at, organization_id, name, display_name)
       select gen_random_uuid(), now(), now(), $1, 'large-' || lpad(n::text, 4, '0'), 'é"\n' || n from generate_series(1, 600) n`,
      [w().defaultOrganization],
    );
    const owner = w().as(w().owner);
    const { body, headers } = await owner.get("/api/v2/groups");
    expect(Number(headers.get("content-length"))).to.equal(Buffer.byteLength(JSON.stringify(body)));
    expect(Number(headers.get("content-length"))).to.be.above(128 * 1024);
    const names = (groups: Array<{ name: string; display_name?: string }>) => groups.map(({ name }) => name);
    const large = names(body).filter((name) => name.startsWith("large-"));
    expect(large)
      .to.have.length(600)
      .and.to.deep.equal([...large].sort());
    const { groups } = await owner.graphql(
      "{ groups(first: 1000) { nodes { name displayName } edges { node { name } } } }",
    );
    expect(names(groups.nodes)).to.deep.equal(names(body));
    expect(groups.edges.map(({ node }: { node: { name: string } }) => node.name)).to.deep.equal(names(body));
    const { body: again } = await owner.get("/api/v2/groups?exclude_members=true");
    expect(names(again)).to.deep.equal(names(body));
  });
});

describe("the size of a response", () => {
  it("is that of the bytes of its texts, names, and errors", () => {
    const text = "x".repeat(1000);
    expect(isLarger({ data: { text } }, 1500)).to.equal(false);
    expect(isLarger({ data: { text: "é".repeat(1000) } }, 1500)).to.equal(true);
    expect(isLarger({ data: { lists: [[{ text }, { text }]] } }, 1500)).to.equal(true);
    expect(isLarger({ data: { [text]: 1, [`${text}2`]: null } }, 1500)).to.equal(true);
    expect(isLarger({ data: { numbers: Array.from({ length: 1000 }, () => 12345) } }, 4500)).to.equal(true);
    expect(isLarger({ data: null, errors: [new GraphQLError(text), new GraphQLError(text)] }, 1500)).to.equal(true);
    const originalError = new DomainError("BAD_USER_INPUT", "x", { validations: [{ field: "a", detail: text }] });
    expect(isLarger({ data: null, errors: [new GraphQLError("x", { originalError })] }, 500)).to.equal(true);
  });
});
