import { ArgsType, type ClassType, Field, Int, ObjectType, Root } from "type-graphql";
import type { Page } from "../../domain/kernel/page.js";
import { offsetRule, type PageArguments, pageSizeRule } from "../../domain/kernel/paging.js";
import { Rule } from "./access.js";

@ObjectType("PageInfo", { simpleResolvers: true, description: "Where a page lies in its list." })
export class PageInfoType {
  @Field(() => Boolean, { description: "Whether nodes follow." }) hasNextPage!: boolean;
  @Field(() => Boolean, { description: "Whether nodes precede." }) hasPreviousPage!: boolean;
  @Field(() => String, { nullable: true, description: "For `before`: the first node's place." }) startCursor?: string;
  @Field(() => String, { nullable: true, description: "For `after`: the last node's place." }) endCursor?: string;
}

/** Which stretch of a connection is wanted. */
@ArgsType()
export class PageArgs implements PageArguments {
  @Rule(pageSizeRule)
  @Field(() => Int, { nullable: true, description: "How many nodes from the beginning, at most 1000. Default: 100." })
  first?: number | null;
  @Field(() => String, { nullable: true, description: "Begin after this cursor or id." }) after?: string | null;
  @Rule(pageSizeRule)
  @Field(() => Int, { nullable: true, description: "How many nodes from the end, at most 1000." })
  last?: number | null;
  @Field(() => String, { nullable: true, description: "End before this cursor or id." }) before?: string | null;
  @Rule(offsetRule)
  @Field(() => Int, { nullable: true, description: "How many nodes to leave out." })
  offset?: number | null;
}

/**
 * The Relay connection of a node type: `nodes`, `edges`, `pageInfo`, and `totalCount`, which is counted only when
 * asked for. Its value is a `Page` from the domain. Extend the class to add fields of the connection.
 */
export function connectionOf<Node extends object>(name: string, node: () => ClassType<Node>) {
  @ObjectType(`${name}Edge`, { simpleResolvers: true, description: `A ${name} and its place in the list.` })
  class Edge {
    @Field(node, { description: "The node." }) node!: Node;
    @Field(() => String, { description: "Its place, for `after` and `before`." }) cursor!: string;
  }

  @ObjectType(`${name}Connection`, { description: `A page of ${name} nodes.` })
  class Connection {
    @Field(() => [node()], { description: "The nodes of this page.", simple: true }) nodes!: Node[];

    @Field(() => [Edge], { description: "The nodes of this page with their places." })
    edges(@Root() page: Page<Node>): Edge[] {
      return page.nodes.map((each) => ({ node: each, cursor: page.cursor(each) }));
    }

    @Field(() => PageInfoType, { description: "Where this page lies in the list." })
    pageInfo(@Root() page: Page<Node>): PageInfoType {
      const [first, last] = [page.nodes[0], page.nodes.at(-1)];
      return {
        hasNextPage: page.hasNextPage,
        hasPreviousPage: page.hasPreviousPage,
        startCursor: first && page.cursor(first),
        endCursor: last && page.cursor(last),
      };
    }

    @Field(() => Int, { description: "How many nodes the caller may see that match, whatever the page." })
    totalCount(@Root() page: Page<Node>): Promise<number> {
      return page.count();
    }
  }
  return Connection;
}
