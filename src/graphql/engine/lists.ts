import { Arg, type ClassType, Field, Int, ObjectType, Root } from "type-graphql";
import { mostCounted } from "../../domain/kernel/lists.js";
import { type orderOf, OrderDirection, type Page, PageArguments } from "../../domain/kernel/paging.js";
import { enumType } from "./declarations.js";
import { argumentsOf, inputType } from "./inputs.js";

@ObjectType("PageInfo", { simpleResolvers: true, description: "The position of a page in its list." })
export class PageInfoType {
  @Field({ description: "Whether there are nodes after this page." }) hasNextPage!: boolean;
  @Field({ description: "Whether there are nodes before this page." }) hasPreviousPage!: boolean;
  @Field({ nullable: true, description: "The cursor of the first node, for `before`." })
  startCursor?: string;
  @Field({ nullable: true, description: "The cursor of the last node, for `after`." }) endCursor?: string;
}

/** The arguments that select a page of a connection. */
export const PageArgs = argumentsOf(PageArguments);

enumType({ OrderDirection }, "The direction of an order.", {
  ASC: "Ascending: A to Z, earliest first.",
  DESC: "Descending: Z to A, latest first.",
});

/**
 * Makes the input type that orders a list of `node` objects, such as `UserOrder` with `UserOrderField`. The descriptions are
 * those of the fields by which the list can be ordered.
 */
export function orderType<Fields extends Readonly<Record<string, string>>>(
  node: string,
  declared: ReturnType<typeof orderOf<Fields>>,
  descriptions: Record<keyof Fields, string>,
): void {
  const { entries } = declared.shape.field.def;
  const description = `The fields by which lists of \`${node}\` nodes can be ordered.`;
  enumType({ [`${node}OrderField`]: entries }, description, descriptions);
  inputType(`${node}Order`, declared, {
    description: `The order of a list of \`${node}\` nodes. Nodes of equal fields are ordered by ID. Cursors are valid in both directions, but not for another field.`,
  });
}

interface ConnectionOptions {
  /** Where counting stops. Default: nowhere. */
  most?: number;
  description?: string;
}

/**
 * The Relay connection of a node type: `nodes`, `edges`, `pageInfo`, and `totalCount`, which is counted only when
 * selected. Its value is a `Page` from the domain. Extend the class to add fields to the connection.
 */
export function connectionOf<Node extends object>(
  name: string,
  node: () => ClassType<Node>,
  { most, description = `A page of a list of \`${name}\` nodes.` }: ConnectionOptions = {},
) {
  const limit = most === undefined ? "" : ` Counting stops at ${most}: a total of ${most} means at least that many.`;
  @ObjectType(`${name}Edge`, { simpleResolvers: true, description: `A node of type \`${name}\` and its cursor.` })
  class Edge {
    @Field(node, { description: "The node." }) node!: Node;
    @Field({ description: "The position of the node, for `after` and `before`." }) cursor!: string;
  }

  @ObjectType(`${name}Connection`, { description })
  class Connection {
    @Field(() => [node()], { description: "The nodes of this page.", simple: true }) nodes!: Node[];

    @Field(() => [Edge], { description: "The nodes of this page with their cursors." })
    edges(@Root() page: Page<Node>): Edge[] {
      return page.nodes.map((each) => ({ node: each, cursor: page.cursor(each) }));
    }

    @Field(() => PageInfoType, { description: "The position of this page in the list." })
    pageInfo(@Root() page: Page<Node>): PageInfoType {
      const first = page.nodes[0];
      const last = page.nodes.at(-1);
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
export function exactConnectionOf<Node extends object>(
  name: string,
  node: () => ClassType<Node>,
  description?: string,
) {
  @ObjectType(`${name}Connection`, { description: description ?? `A page of a list of \`${name}\` nodes.` })
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
