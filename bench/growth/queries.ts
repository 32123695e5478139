// The cases of every root field of `Query`: its objects, and its lists in all their ways to be narrowed and ordered, for the
// roles that may read them.
import { type Case, missing, type Read } from "./case.js";
import { type Role, roles } from "./known.js";
import * as schema from "./schema.js";
import type { Field, Narrowing, Path, Variables } from "./schema.js";
import { exempt, readers } from "./values.js";

/** A root field with its arguments, or a list of the object that it returns, as it is named. */
interface Place {
  path: Path;
  what: string;
}

const page = 50;

/** The cases of all root fields. */
export async function queryCases(read: Read): Promise<Case[]> {
  const cases: Case[] = [];
  for (const field of schema.rootFields.filter(({ name }) => !exempt[`Query.${name}`])) {
    const places = schema
      .requiredOf(field)
      .map((given): Place => ({ path: [{ field, given }], what: schema.shownArguments(given) }));
    if (places.length === 0) cases.push(missing(`Query.${field.name}`, "required arguments"));
    const isList = schema.isConnection(field);
    if (!isList) for (const place of places) cases.push(...(await pointCases(place, read)));
    for (const list of isList ? [places] : schema.listsOf(field).map((each) => within(places, each)))
      // Other objects have lists of the same kind: their pages suffice.
      for (const [nr, place] of list.entries())
        cases.push(...(await (nr === 0 ? listCases(place, read) : pageCases(place, read))));
  }
  return cases;
}

/** A list of each of these objects. */
const within = (places: readonly Place[], field: Field): Place[] =>
  places.map(({ path, what }) => ({ path: [...path, { field, given: {} }], what: `${what} ${field.name}` }));

const titled = ({ path, what: objects }: Place, role: Role, what: string) => ({
  operation: `Query.${path[0]!.field.name}`,
  role,
  what: [objects, what].filter(Boolean).join(": "),
});

/** A place with more arguments of its last field. */
const requestOf = (role: Role, { path }: Place, more: Variables, selection: string): string => {
  const { field, given } = path.at(-1)!;
  return schema.requestOf(role, [...path.slice(0, -1), { field, given: { ...given, ...more } }], selection);
};

const unknownOf = ({ path }: Place, unknown: readonly string[]): Case[] =>
  unknown.map((name) => missing(`Query.${path[0]!.field.name}`, `${path.at(-1)!.field.name}.${name}`));

/** An object, or a list without pages, for the role that may read most and the one that may read least. */
async function pointCases(place: Place, read: Read): Promise<Case[]> {
  const { field } = place.path[0]!;
  const selection = schema.selectionOf(field, 2);
  const { narrowings, unknown } = schema.narrowingsOf(field);
  const cases = unknownOf(place, unknown);
  for (const { what, given } of [{ what: "", given: {} }, ...narrowings]) {
    const able: Role[] = [];
    for (const role of roles) if (await read(requestOf(role, place, given, selection))) able.push(role);
    for (const role of new Set([able.at(0), able.at(-1)].filter((each) => each !== undefined)))
      cases.push({ ...titled(place, role, what), request: async () => requestOf(role, place, given, selection) });
  }
  return cases;
}

function listRequest(role: Role, place: Place, given: Variables): string {
  const nodes = schema.selectionOf(schema.fieldsOf(place.path.at(-1)!.field).nodes!, 1);
  return requestOf(role, place, given, `nodes { ${nodes} } pageInfo { endCursor hasNextPage }`);
}

/** The first page of a list, and one in its middle, for each role that finds something. */
const pageCases = async (place: Place, read: Read): Promise<Case[]> =>
  (await readersOf(place, read)).flatMap((role) => [
    { ...titled(place, role, "first page"), request: async () => listRequest(role, place, { first: page }) },
    middleCase(place, role, "page by cursor in the middle", ({ cursor }) => ({ after: cursor, first: page })),
  ]);

async function readersOf(place: Place, read: Read): Promise<Role[]> {
  const able: Role[] = [];
  for (const role of readers[place.path[0]!.field.name] ?? readers.other!)
    if (!((await read(listRequest(role, place, { first: 1 }))) ?? '"nodes":[]').includes('"nodes":[]')) able.push(role);
  return able;
}

/** A list with each narrowing and order, for each role; for the first also counts, pairs, and pages from the end. */
async function listCases(place: Place, read: Read): Promise<Case[]> {
  const { field } = place.path.at(-1)!;
  const { narrowings, unknown } = schema.narrowingsOf(field);
  const cases = [...unknownOf(place, unknown), ...(await pageCases(place, read))];
  const able = await readersOf(place, read);
  const [first] = able;
  if (first === undefined) return unknownOf(place, ["a role that finds something"]);
  const add = async (by: readonly Role[], what: string, given: Variables, isCombined = false) => {
    for (const role of by)
      if (await read(listRequest(role, place, { first: 1, ...given })))
        cases.push({ ...titled(place, role, what), isCombined, request: async () => listRequest(role, place, given) });
  };
  await add([first], "last page", { last: page });
  cases.push(
    middleCase(place, first, "page before the middle", ({ cursor }) => ({ before: cursor, last: page })),
    { ...middleCase(place, first, "deep offset", ({ offset }) => ({ offset, first: page })), isDeep: true },
  );
  const orders = schema.ordersOf(field);
  for (const orderBy of orders) {
    const what = `by ${orderBy.field} ${orderBy.direction}`;
    await add(able, what, { orderBy, first: page });
    const middle = ({ cursor }: Middle) => ({ after: cursor, first: page });
    cases.push(middleCase(place, first, `${what}, page by cursor in the middle`, middle, { orderBy }));
  }
  const byKey = [...Map.groupBy(narrowings, ({ key }) => key).values()];
  for (const { what, given } of narrowings) await add(able, what, { ...given, first: page });
  for (const { what, given } of pairsOf(byKey)) await add([first], what, { ...given, first: page }, true);
  // The newest first, where that is not the usual order.
  const orderBy = orders[1];
  if (orders.length > 2)
    for (const [one] of byKey)
      await add([first], `${one!.what}, by ${orderBy!.field}`, { ...one!.given, orderBy, first: page });
  if ("totalCount" in schema.fieldsOf(field))
    for (const { what, given } of [{ what: "", given: {} }, ...byKey.map(([one]) => one!)])
      cases.push({
        ...titled(place, first, `${what && `${what}, `}count`),
        // With a page of one row: it reads as many in a small database as in a large one.
        request: async () => requestOf(first, place, { ...given, first: 1 }, "totalCount"),
      });
  return cases;
}

/** Each two arguments that narrow a list together: the first value of one and the last one of the other. */
const pairsOf = (byKey: readonly Narrowing[][]): Array<Omit<Narrowing, "key">> =>
  byKey.flatMap(([one], nr) =>
    byKey.slice(nr + 1).map((others) => {
      const other = others.at(-1)!;
      return { what: `${one!.what} and ${other.what}`, given: merged(one!.given, other.given) };
    }),
  );

/** Both arguments, whose filters are one. */
const merged = (one: Variables, other: Variables): Variables =>
  one.filter && other.filter ? { filter: { ...one.filter, ...other.filter } } : { ...one, ...other };

/** Where the middle of a list is. */
interface Middle {
  offset: number;
  cursor: string;
}

const middleCase = (
  place: Place,
  role: Role,
  what: string,
  given: (middle: Middle) => Variables,
  always: Variables = {},
): Case => ({
  ...titled(place, role, what),
  async request(ask) {
    const found = async (more: Variables, selection: string, pattern: RegExp) =>
      pattern.exec(await ask(requestOf(role, place, { ...always, ...more }, selection)))![1]!;
    const total = Number(await found({}, "totalCount", /"totalCount":(\d+)/));
    const offset = Math.floor((total - 1) / 2);
    const cursor = await found({ offset, first: 1 }, "pageInfo { endCursor }", /"endCursor":"([^"]*)"/);
    return listRequest(role, place, { ...always, ...given({ offset, cursor }) });
  },
});
