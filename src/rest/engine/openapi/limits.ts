import { getNamedType, getNullableType, type GraphQLInputType, isListType } from "graphql";
import { entryKeyOf } from "../../../graphql/engine/access.js";
import type { Given } from "../bind.js";
import type { Json } from "./schemas.js";

type Limited = Pick<Given, "type" | "rule" | "description">;

/**
 * The limits that descriptions and rules of inputs state in fixed phrases: `at most 64 characters`, `1 to 255 bytes`,
 * `at most 16 KiB`, `at least 1`, `from 0 to 1000`; for lists and objects, `at most 200`. JSON Schema counts characters: a limit in
 * bytes is passed on as it is, because no text has more characters than bytes.
 */
export function limitsOf({ type, rule, description = "" }: Limited): Json {
  if (isListType(getNullableType(type))) return listLimits(type, description);
  if (rule !== undefined) return range(rule);
  if (getNamedType(type).name === "JSONObject") return mostOf("maxProperties", description);
  return getNamedType(type).name === "String" ? lengths(description) : {};
}

const listLimits = (type: GraphQLInputType, description: string): Json =>
  mostOf(entryKeyOf(type) === undefined ? "maxItems" : "maxProperties", description);

function mostOf(keyword: "maxItems" | "maxProperties", description: string): Json {
  const most = /\bat most (\d+)/i.exec(description)?.[1];
  return most === undefined ? {} : { [keyword]: Number(most) };
}

function range(rule: string): Json {
  const [, least, most] = /\bfrom (-?\d+) to (-?\d+)\b/.exec(rule) ?? [];
  return least === undefined ? {} : { minimum: Number(least), maximum: Number(most) };
}

const units: Record<string, number> = { KiB: 1024 };

function lengths(description: string): Json {
  const [, least, most, unit] =
    /\b(?:(\d+) to|at most) (\d+) (characters|bytes|letters|KiB)\b/i.exec(description) ?? [];
  if (most === undefined) return {};
  return { ...(least && { minLength: Number(least) }), maxLength: Number(most) * (units[unit!] ?? 1) };
}
