// The limits of values in forms, which the server checks again.

/** The limits of a value, and of the entries of a list, as JSON Schema has them. */
export interface Limits {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

export interface Limited {
  limits?: Limits;
  /** The limits as a part of a sentence: `at most 64 characters`. */
  words?: string;
}

/** Returns the rule that a value breaks, as a sentence; `undefined` if there is none. */
export function faultOf(value: unknown, { limits = {}, words }: Limited): string | undefined {
  if (Array.isArray(value)) return listFaultOf(value, { limits, words });
  if (typeof value === "number") {
    const { minimum = -Infinity, maximum = Infinity } = limits;
    return value >= minimum && value <= maximum ? undefined : `Must be ${words ?? rangeOf(minimum, maximum)}.`;
  }
  return typeof value === "string" ? textFaultOf(value, { limits, words }) : undefined;
}

function textFaultOf(text: string, { limits = {}, words }: Limited): string | undefined {
  const { minLength = 0, maxLength = Infinity, pattern } = limits;
  if (text === "" && minLength > 0) return "Is required.";
  const { length } = Array.from(text);
  if (length > maxLength) return `Must be ${words ?? `at most ${maxLength} characters`}.`;
  // What has no words is left to the server, which has.
  return words && pattern && !new RegExp(pattern, "u").test(text) ? `Must be ${words}.` : undefined;
}

function listFaultOf(entries: readonly unknown[], limited: Limited): string | undefined {
  const { minItems = 0, maxItems = Infinity } = limited.limits ?? {};
  if (entries.length > maxItems) return `Must have at most ${maxItems} entries.`;
  if (entries.length === 0 && minItems > 0) return "Is required.";
  if (entries.length < minItems) return `Must have at least ${minItems} entries.`;
  return entries.map((entry) => faultOf(entry, limited)).find((fault) => fault !== undefined);
}

const rangeOf = (minimum: number, maximum: number): string =>
  maximum === Infinity
    ? `at least ${minimum}`
    : minimum === -Infinity
      ? `at most ${maximum}`
      : `from ${minimum} to ${maximum}`;
