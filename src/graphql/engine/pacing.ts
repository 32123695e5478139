import { type GraphQLSchema, isObjectType } from "graphql";
import type { Page } from "../../domain/kernel/paging.js";
import { turn } from "../../runtime/concurrency.js";

/** Items of a list that are completed in one turn of the event loop; they may have lists of their own. */
const slice = 50;

/** Lists up to this length, such as default pages, are completed in one turn. */
const short = 100;

/** Lets the lists of connections be completed in slices: a long one would block the process until its end. */
export function paceConnections(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || !type.name.endsWith("Connection")) continue;
    const { nodes, edges } = type.getFields();
    nodes!.resolve = ({ nodes: items }: Page<unknown>) => paced(items);
    const { resolve } = edges!;
    edges!.resolve = async (...given) => paced((await resolve!(...given)) as unknown[]);
  }
}

/** A list whose items come slice by slice; a short one as it is. */
function paced<Item>(items: Item[]): Array<Item | Promise<Item>> {
  if (items.length <= short) return items;
  let begun = Promise.resolve();
  return items.map((item, index) => {
    if (index % slice === 0) begun = turn();
    return begun.then(() => item);
  });
}
