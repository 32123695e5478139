import { Problems, quote } from "../kernel/errors.js";
import { textProblem, wholeNumber } from "../kernel/text.js";

/** What is collected while a document is read. */
export interface Reading {
  problems: Problems;
  /** Texts in which daemons replace references, or have replaced them. */
  templates: Array<{ text: string; place: Place }>;
  /** Whether a daemon has replaced the references already. */
  isRendered: boolean;
  /** The number of faults, also of those that are not reported because there are too many. */
  faults: number;
}

export const newReading = (problems: Problems, isRendered = false): Reading => ({
  problems,
  templates: [],
  isRendered,
  faults: 0,
});

/** The place of a value in a document, by its path: `document.resources[0].name`. */
export class Place {
  constructor(
    readonly path: string,
    readonly reading: Reading,
  ) {}

  /** Adds a fault, unless `rule` is `undefined`. */
  check(rule: string | undefined): void {
    this.reading.problems.add(this.path, rule);
    if (rule !== undefined) this.reading.faults++;
  }

  fault(rule: string): void {
    this.check(rule);
  }

  get faults(): number {
    return this.reading.faults;
  }

  member(name: string): Place {
    return new Place(`${this.path}.${name}`, this.reading);
  }

  item(index: number): Place {
    return new Place(`${this.path}[${index}]`, this.reading);
  }
}

/**
 * Reads a value. Adds the faults of a value that is invalid, and returns a harmless one in its stead, so that the checks
 * of other values go on.
 */
export type Read<Value> = (value: unknown, place: Place) => Value;

/** A member of an object: how its value is read, and what counts if it is absent. */
export interface Member<Value> {
  read: Read<Value>;
  absent: (place: Place) => Value;
}

const nowhere = () => new Place("", newReading(new Problems()));

export const required = <Value>(read: Read<Value>): Member<Value> => ({
  read,
  absent: (place) => {
    place.fault("Is required.");
    return read(undefined, nowhere());
  },
});

/** A member that has a value if it is absent. */
export const otherwise = <Value>(absent: NoInfer<Value>, read: Read<Value>): Member<Value> => ({
  read,
  absent: () => absent,
});

export const optional = <Value>(read: Read<Value>): Member<Value | undefined> => ({ read, absent: () => undefined });

export const string: Read<string> = (value, place) => {
  if (typeof value !== "string") {
    place.fault("Must be a string.");
    return "";
  }
  place.check(textProblem(value));
  return value;
};

/** Reads text that conforms to a rule. */
export const text =
  (problemOf: (text: string) => string | undefined): Read<string> =>
  (value, place) => {
    const found = string(value, place);
    if (typeof value === "string" && textProblem(found) === undefined) place.check(problemOf(found));
    return found;
  };

/** Reads text that a pattern matches. */
export const matching = (pattern: RegExp, rule: string): Read<string> =>
  text((found) => (pattern.test(found) ? undefined : rule));

export const truth: Read<boolean> = (value, place) => {
  if (typeof value !== "boolean") place.fault("Must be true or false.");
  return value === true;
};

export const whole =
  (least: number, most: number): Read<number> =>
  (value, place) => {
    const isWithin = Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
    if (!isWithin) place.fault(wholeNumber(least, most));
    return isWithin ? (value as number) : least;
  };

export const oneOf =
  <const Word extends string>(...words: Word[]): Read<Word> =>
  (value, place) => {
    const word = words.find((each) => each === value);
    if (word === undefined) place.fault(`Must be one of: ${words.join(", ")}.`);
    return word ?? words[0]!;
  };

/** Reads a list of limited length. */
export const list =
  <Value>(most: number, read: Read<Value>): Read<Value[]> =>
  (value, place) => {
    if (!Array.isArray(value)) {
      place.fault("Must be a list.");
      return [];
    }
    if (value.length > most) place.fault(`Must have at most ${most} entries.`);
    return value.slice(0, most).map((each, index) => read(each, place.item(index)));
  };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the entries of an object without those that are null, which count as absent. */
function entriesOf(value: unknown, place: Place): Array<[string, unknown]> | undefined {
  if (isObject(value)) return Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  place.fault("Must be an object.");
  return undefined;
}

/** Reads an object whose keys are free within a rule. */
export const map =
  <Value>(
    most: number,
    keyProblem: (key: string) => string | undefined,
    read: Read<Value>,
  ): Read<Record<string, Value>> =>
  (value, place) => {
    const entries = entriesOf(value, place) ?? [];
    if (entries.length > most) place.fault(`Must have at most ${most} entries.`);
    const values = entries.slice(0, most).map(([key, each]): [string, Value] => {
      const here = place.member(key);
      here.check(textProblem(key) ?? keyProblem(key));
      return [key, read(each, here)];
    });
    return Object.fromEntries(values);
  };

type ValuesOf<Members> = { [Name in keyof Members]: Members[Name] extends Member<infer Value> ? Value : never };

/** The type of what is read. */
export type ReadBy<R> = R extends Read<infer Value> ? Value : never;

/** Reads an object with these members and no others. */
export function object<Members extends Record<string, Member<unknown>>>(members: Members): Read<ValuesOf<Members>> {
  const names = Object.keys(members);
  return (value, place) => {
    const entries = entriesOf(value, place);
    const given = new Map(entries);
    const here = entries ? place : nowhere();
    const values = names.map((name): [string, unknown] => {
      const { read, absent } = members[name]!;
      const found = given.get(name);
      return [name, found === undefined ? absent(here.member(name)) : read(found, here.member(name))];
    });
    for (const name of given.keys())
      if (!Object.hasOwn(members, name)) here.member(name).fault(`Is not known. Known are ${names.join(", ")}.`);
    return Object.fromEntries(values) as ValuesOf<Members>;
  };
}

/** Adds a fault for each entry of a list whose name another one has. */
export function checkUnique<Entry>(entries: readonly Entry[], name: keyof Entry & string, place: Place): void {
  const taken = new Set<unknown>();
  for (const [index, entry] of entries.entries()) {
    const value = entry[name];
    if (value !== "" && taken.has(value))
      place
        .item(index)
        .member(name)
        .fault(`Is the ${name} of another entry: ${quote(String(value))}.`);
    taken.add(value);
  }
}
