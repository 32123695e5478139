// Finds columns that fragments of SQL name as text, where the compiler does not see them.
import type { EntityMetadata } from "@mikro-orm/core";

/** The columns of all tables whose names have several words, such as `deleted_at`. */
export const columnsOfWords = (entities: readonly EntityMetadata[]): ReadonlySet<string> =>
  new Set(
    entities.flatMap(({ props }) =>
      props.flatMap(({ fieldNames }) => fieldNames ?? []).filter((name) => name.includes("_")),
    ),
  );

/** The columns in the texts of `sql` templates of a source, in their order, outside of strings of SQL. */
export function rawColumns(source: string, columns: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (const { index, 0: tag } of source.matchAll(/\bsql(?:<[^`]*?>)?`/g)) {
    const text = textOf(source, index + tag.length - 1).replace(/'[^']*'|--.*$/gm, " ");
    for (const [word] of text.matchAll(/\b[a-z][a-z\d]*(?:_[a-z\d]+)+\b(?!\s*\()/g))
      if (columns.has(word)) found.push(word);
  }
  return found;
}

/** The text of the template that begins with the backquote at a position, without its expressions. */
function textOf(source: string, start: number): string {
  let text = "";
  let at = start + 1;
  while (source[at] !== "`") {
    if (source.startsWith("${", at)) at = endOfExpression(source, at + 2);
    else text += source[at++];
  }
  return text;
}

/** The position after the brace that ends an expression of a template, which may hold other templates. */
function endOfExpression(source: string, start: number): number {
  let depth = 1;
  let at = start;
  for (; depth > 0; at++) {
    if (source[at] === "{") depth++;
    else if (source[at] === "}") depth--;
    else if (source[at] === "`") at = endOfTemplate(source, at);
  }
  return at;
}

/** The position of the backquote that ends the template whose first one is at a position. */
function endOfTemplate(source: string, start: number): number {
  let at = start + 1;
  while (source[at] !== "`") at = source.startsWith("${", at) ? endOfExpression(source, at + 2) : at + 1;
  return at;
}
