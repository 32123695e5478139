import { Field, InputType, registerEnumType } from "type-graphql";
import { type OrderBy, OrderDirection } from "../../domain/kernel/paging.js";

registerEnumType(OrderDirection, {
  name: "OrderDirection",
  description: "The direction of an order.",
  valuesConfig: {
    ASC: { description: "Ascending: A to Z, earliest first." },
    DESC: { description: "Descending: Z to A, latest first." },
  },
});

/**
 * The input type that orders a list of `node` objects by one of `fields`, such as `UserOrder` with `UserOrderField`.
 */
export function orderOf<Fields extends Record<string, string>>(
  node: string,
  fields: Fields,
  valuesConfig: Record<keyof Fields, { description: string }>,
) {
  registerEnumType(fields, {
    name: `${node}OrderField`,
    description: `The fields by which lists of \`${node}\` nodes can be ordered.`,
    valuesConfig,
  });
  @InputType(`${node}Order`, {
    description: `The order of a list of \`${node}\` nodes. Nodes of equal fields are ordered by ID. Cursors are valid in both directions, but not for another field.`,
  })
  class Order implements OrderBy<Fields[keyof Fields]> {
    @Field(() => fields, { description: "The field." }) field!: Fields[keyof Fields];
    @Field(() => OrderDirection, { description: "The direction." }) direction!: OrderDirection;
  }
  return Order;
}
