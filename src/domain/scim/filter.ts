import { quote } from "../kernel/errors.js";
import { isStorable, utcMoment } from "../../runtime/text.js";
import { fault, type ScimType } from "./faults.js";
import { attributeNamed, leafOf, type Place, placeNamed, requireSafe, type Token, tokensOf } from "./paths.js";
import type { Attribute, ResourceType } from "./schema.js";

/** A place of which only the values that match `where` count: `emails[type eq "work"].value`. */
export interface Target extends Place {
  readonly where?: Filter;
}

export type Operator = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";

/** A comparison with a value of the type of its target: null stands for no value. Times are RFC 3339 in UTC. */
export interface Comparison {
  readonly kind: "compare";
  readonly target: Target;
  readonly operator: Operator;
  readonly value: string | boolean | null;
}

/** A filter (RFC 7644 §3.4.2.2) whose names and values were checked against the schema. */
export type Filter =
  | { readonly kind: "and" | "or"; readonly parts: readonly Filter[] }
  | { readonly kind: "not"; readonly part: Filter }
  | { readonly kind: "present"; readonly target: Target }
  | Comparison;

const operators = new Set<string>(["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]);

export const filterLimits = { bytes: 4096, depth: 32, comparisons: 64 } as const;

/** Parses a filter on resources of a type. Throws `invalidFilter`. */
export function parseFilter(type: ResourceType, text: string): Filter {
  if (Buffer.byteLength(text) > filterLimits.bytes)
    throw fault("invalidFilter", `A filter must be at most ${filterLimits.bytes} bytes.`);
  if (!isStorable(text)) throw fault("invalidFilter", "A filter must be valid Unicode without NUL characters.");
  const parser = new Parser(type, text, "invalidFilter");
  const filter = parser.either();
  parser.requireEnd();
  return filter;
}

/** A path of a change (RFC 7644 §3.5.2): a place, which may narrow a multi-valued attribute to matching values. */
export function parsePath(type: ResourceType, text: string): Target {
  const parser = new Parser(type, text, "invalidPath");
  const target = parser.target();
  parser.requireEnd();
  return target;
}

type Resolve = (name: string) => Place | undefined;

const end: Token = { kind: "end", text: "" };

/** A recursive descent over tokens. Its depth and the number of its comparisons are limited. */
class Parser {
  #at = 0;
  #depth = 0;
  #comparisons = 0;
  readonly #tokens: readonly Token[];
  #resolve: Resolve;

  constructor(
    type: ResourceType,
    text: string,
    private readonly scimType: ScimType,
  ) {
    this.#tokens = tokensOf(text, scimType);
    this.#resolve = (name) => placeNamed(type, name);
  }

  requireEnd(): void {
    if (this.#at < this.#tokens.length) throw this.unexpectedToken();
  }

  /** `a or b`. */
  either(): Filter {
    return this.parseJoined("or", () => this.parseJoined("and", () => this.#unary()));
  }

  parseJoined(kind: "and" | "or", next: () => Filter): Filter {
    const parts = [next()];
    while (this.#takeWord(kind)) parts.push(next());
    return parts.length === 1 ? parts[0]! : { kind, parts };
  }

  #unary(): Filter {
    if (this.#isWord("not") && this.#peek(1).text === "(") {
      this.#at++;
      return { kind: "not", part: this.#unary() };
    }
    if (!this.#takeMark("(")) return this.#expression();
    const inner = this.parseNested(() => this.either());
    this.#requireMark(")");
    return inner;
  }

  /** Counts a level of nesting around a part. */
  parseNested<Part>(parse: () => Part): Part {
    if (++this.#depth > filterLimits.depth)
      throw fault(this.scimType, `A filter must have at most ${filterLimits.depth} levels.`);
    const part = parse();
    this.#depth--;
    return part;
  }

  #expression(): Filter {
    if (++this.#comparisons > filterLimits.comparisons)
      throw fault(this.scimType, `A filter must have at most ${filterLimits.comparisons} comparisons.`);
    const target = this.target();
    const { attribute } = target;
    if (attribute.returned === "never")
      throw fault(this.scimType, `The attribute ${attribute.name} cannot be compared.`);
    const isOver = ["end", "mark"].includes(this.#peek().kind) || this.#isWord("and") || this.#isWord("or");
    if (target.where && !target.sub && isOver) return { kind: "present", target };
    const operator = this.#next().text.toLowerCase();
    if (operator === "pr") return { kind: "present", target };
    if (!operators.has(operator)) throw this.unexpectedToken(-1);
    return comparison(target, operator as Operator, this.#next(), this.scimType);
  }

  /** `name`, `name.sub`, `name[filter]` or `name[filter].sub`. */
  target(): Target {
    const token = this.#next();
    if (token.kind !== "word") throw this.unexpectedToken(-1);
    requireSafe(token.text);
    const place = this.#resolve(token.text);
    if (!place) throw fault(this.scimType, `There is no attribute ${quote(token.text)}.`);
    if (!this.#takeMark("[")) return place;
    const { attribute } = place;
    if (!attribute.isMultiValued || !attribute.subAttributes || place.sub)
      throw fault(this.scimType, `The attribute ${attribute.name} has no values to choose from.`);
    const where = this.parseNested(() => this.#within(attribute));
    this.#requireMark("]");
    const { text, kind } = this.#peek();
    if (kind !== "word" || !text.startsWith(".")) return { ...place, where };
    this.#at++;
    const sub = attributeNamed(attribute.subAttributes, text.slice(1));
    if (!sub) throw fault(this.scimType, `The attribute ${attribute.name} has no ${quote(text.slice(1))}.`);
    return { ...place, sub, where };
  }

  /** A filter on the values of an attribute, in which names are those of its sub-attributes. */
  #within({ subAttributes }: Attribute): Filter {
    const outer = this.#resolve;
    this.#resolve = (name) => {
      const attribute = attributeNamed(subAttributes, name);
      return attribute && { attribute };
    };
    const filter = this.either();
    this.#resolve = outer;
    return filter;
  }

  #peek(ahead = 0): Token {
    return this.#tokens[this.#at + ahead] ?? end;
  }

  #next(): Token {
    return this.#tokens[this.#at++] ?? end;
  }

  #isWord(word: string): boolean {
    const { kind, text } = this.#peek();
    return kind === "word" && text.toLowerCase() === word;
  }

  #takeWord(word: string): boolean {
    if (!this.#isWord(word)) return false;
    this.#at++;
    return true;
  }

  #takeMark(mark: string): boolean {
    const { kind, text } = this.#peek();
    if (kind !== "mark" || text !== mark) return false;
    this.#at++;
    return true;
  }

  #requireMark(mark: string): void {
    if (!this.#takeMark(mark)) throw this.unexpectedToken();
  }

  unexpectedToken(offset = 0) {
    const { kind, text } = this.#peek(offset);
    return fault(this.scimType, kind === "end" ? "The text ends too early." : `Unexpected ${quote(text)}.`);
  }
}

/** The types of attributes to which operators other than `eq` and `ne` apply. */
const ordered = new Set<Attribute["type"]>(["string", "reference", "dateTime"]);

/** Builds a comparison; `value` of a complex attribute stands for its sub-attribute `value` (RFC 7644 §3.4.2.2). */
function comparison(given: Target, operator: Operator, token: Token, scimType: ScimType): Comparison {
  const value = attributeNamed(given.attribute.subAttributes, "value");
  const target = !given.sub && value ? { ...given, sub: value } : given;
  const leaf = leafOf(target);
  if (token.kind === "end" || token.kind === "mark") throw fault(scimType, `The operator ${operator} needs a value.`);
  const isText = ["co", "sw", "ew"].includes(operator);
  if (token.kind === "word" && token.text.toLowerCase() === "null") {
    if (operator === "eq" || operator === "ne") return { kind: "compare", target, operator, value: null };
    throw fault(scimType, `The operator ${operator} needs a value.`);
  }
  if (leaf.type === "complex") throw fault(scimType, `The attribute ${leaf.name} has no value to compare.`);
  if ((operator !== "eq" && operator !== "ne" && !ordered.has(leaf.type)) || (isText && leaf.type === "dateTime"))
    throw fault(scimType, `The operator ${operator} does not apply to the attribute ${leaf.name}.`);
  return { kind: "compare", target, operator, value: valueOf(leaf, token.text, scimType) };
}

function valueOf(leaf: Attribute, text: string, scimType: ScimType): string | boolean {
  if (leaf.type === "boolean") {
    const value = text.toLowerCase();
    if (value !== "true" && value !== "false") throw fault(scimType, `The attribute ${leaf.name} is true or false.`);
    return value === "true";
  }
  if (leaf.type !== "dateTime") return text;
  const moment = utcMoment(text);
  if (moment === undefined) throw fault(scimType, `The attribute ${leaf.name} is a time in RFC 3339 form.`);
  return moment;
}
