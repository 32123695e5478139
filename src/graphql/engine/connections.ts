import { Arg, ArgsType, type ClassType, Field, Int, ObjectType, Root } from "type-graphql";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/page.js";
import { offsetRule, type PageArguments, pageSizeRule } from "../../domain/kernel/paging.js";
import { Access } from "./access.js";

@ObjectType("PageInfo", { simpleResolvers: true, description: "The position of a page in its list." })
export class PageInfoType {
  @Field({ description: "Whether there are nodes after this page." }) hasNextPage!: boolean;
  @Field({ description: "Whether there are nodes before this page." }) hasPreviousPage!: boolean;
  @Field({ nullable: true, description: "The cursor of the first node, for `before`." })
  startCursor?: string;
  @Field({ nullable: true, description: "The cursor of the last node, for `after`." }) endCursor?: string;
}

/** The arguments that select a page of a connection. */
@ArgsType()
export class PageArgs implements PageArguments {
  @Access({ rule: pageSizeRule })
  @Field(() => Int, {
    nullable: true,
    description: "The page size, counted from the start of the list, at most 1000. The default is 100.",
  })
  first?: number | null;
  @Field(() => String, { nullable: true, description: "Returns nodes after this cursor or node id." }) after?:
    | string
    | null;
  @Access({ rule: pageSizeRule })
  @Field(() => Int, { nullable: true, description: "The page size, counted from the end of the list, at most 1000." })
  last?: number | null;
  @Field(() => String, { nullable: true, description: "Returns nodes before this cursor or node id." }) before?:
    | string
    | null;
  @Access({ rule: offsetRule })
  @Field(() => Int, {
    nullable: true,
    description:
      "The number of nodes to skip, after the cursor is applied. At most 2147483647; the default is 0. Cursors cost less deep in a list.",
  })
  offset?: number | null;
}

/**
 * The Relay connection of a node type: `nodes`, `edges`, `pageInfo`, and `totalCount`, which is counted only when
 * selected, up to `most` if given. Its value is a `Page` from the domain. Extend the class to add fields to the
 * connection.
 */
export function connectionOf<Node extends object>(name: string, node: () => ClassType<Node>, most?: number) {
  const limit = most === undefined ? "" : ` Counting stops at ${most}: a total of ${most} means at least that many.`;
  @ObjectType(`${name}Edge`, { simpleResolvers: true, description: `A node of type \`${name}\` and its cursor.` })
  class Edge {
    @Field(node, { description: "The node." }) node!: Node;
    @Field({ description: "The position of the node, for `after` and `before`." }) cursor!: string;
  }

  @ObjectType(`${name}Connection`, { description: `A page of a list of \`${name}\` nodes.` })
  class Connection {
    @Field(() => [node()], { description: "The nodes of this page.", simple: true }) nodes!: Node[];

    @Field(() => [Edge], { description: "The nodes of this page with their cursors." })
    edges(@Root() page: Page<Node>): Edge[] {
      return page.nodes.map((each) => ({ node: each, cursor: page.cursor(each) }));
    }

    @Field(() => PageInfoType, { description: "The position of this page in the list." })
    pageInfo(@Root() page: Page<Node>): PageInfoType {
      const [first, last] = [page.nodes[0], page.nodes.at(-1)];
      return {
        hasNextPage: page.hasNextPage,
        hasPreviousPage: page.hasPreviousPage,
        get startCursor() {
          return first && page.cursor(first);
        },
        get endCursor() {
          return last && page.cursor(last);
        },
      };
    }

    @Field(() => Int, {
      description: `The number of matching nodes that the caller can see, on all pages together.${limit}`,
    })
    totalCount(@Root() page: Page<Node>): Promise<number> {
      return page.count();
    }
  }
  return Connection;
}

/**
 * A connection whose `totalCount` is limited unless the exact number is requested: lists that have to be counted row by
 * row, of which the REST API returns the exact number.
 */
export function exactConnectionOf<Node extends object>(name: string, node: () => ClassType<Node>) {
  @ObjectType(`${name}Connection`, { description: `A page of a list of \`${name}\` nodes.` })
  class ExactConnection extends connectionOf(name, node) {
    @Field(() => Int, {
      description: `The number of matching nodes that the caller can see, on all pages together. If they have to be counted one by one, counting stops at ${mostCounted} unless \`exact\` is set: a total of ${mostCounted} then means at least that many.`,
    })
    override totalCount(
      @Root() page: Page<Node>,
      @Arg("exact", () => Boolean, {
        defaultValue: false,
        description: "Counts all matching nodes, which takes time in proportion to the length of the list.",
      })
      isExact = false,
    ): Promise<number> {
      return page.count(isExact);
    }
  }
  return ExactConnection;
}
