import { Liquid, type Template } from "liquidjs";
import type { InboxAction } from "./inbox.js";
import type { NotificationTemplate } from "./templates/template.js";

/** The values that a notification shows. They are inserted as text and never evaluated. */
export interface Subject {
  labels: Readonly<Record<string, string>>;
  /** Further values, such as lists. */
  data: Readonly<Record<string, unknown>>;
}

export interface Variables extends Subject {
  user: { name: string; username: string; email: string };
  app: { name: string; base_url: string; logo_url: string; docs_url: string; year: number };
}

/** The texts of a notification for one user, as Markdown. */
export interface Rendered {
  title: string;
  body: string;
  actions: InboxAction[];
}

/** Characters that have a meaning within a line of CommonMark. */
const inlineMarks = /[\\`*_[\]<>&~!]/g;

/** Matches the characters that begin a block of Markdown at the start of a line. */
const blockMarks = /^(?:[-+=#]|\d+(?=[.)]))/;

/** Escapes text so that Markdown shows it as it is, on one line. */
const markdownEscaped = (value: unknown): string =>
  textOf(value)
    .replace(/\s+/g, " ")
    .trim()
    .replace(inlineMarks, "\\$&")
    .replace(blockMarks, (mark) => (/\d/.test(mark) ? `${mark}\\` : `\\${mark}`));

const jsonEscaped = (value: unknown): string => JSON.stringify(textOf(value)).slice(1, -1);

/** Templates insert text and numbers. */
const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? `${value}` : "");

/** Maximum number of characters that a template may build while it renders. */
const memoryLimit = 1_000_000;

/** Maximum size of a rendered text, in characters. */
const longestText = 65_536;

const engine = (outputEscape: (value: unknown) => string) =>
  new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    // A label without a text is false, as one that is missing.
    jsTruthy: true,
    memoryLimit,
    timezoneOffset: 0,
    outputEscape,
  });

const markdown = engine(markdownEscaped);
const json = engine(jsonEscaped);

interface Parsed {
  title: Template[];
  body: Template[];
  actions: Template[];
}

const parsed = new WeakMap<NotificationTemplate, Parsed>();

function parse(template: NotificationTemplate): Parsed {
  const known = parsed.get(template) ?? {
    title: markdown.parse(template.title),
    body: markdown.parse(template.body),
    actions: json.parse(template.actions),
  };
  parsed.set(template, known);
  return known;
}

/** Renders a notification. Missing labels render empty. Throws for a template that does not fit the values. */
export function render(template: NotificationTemplate, variables: Variables): Rendered {
  const { title, body, actions } = parse(template);
  return {
    title: oneLine(textFrom(markdown, title, variables)),
    body: textFrom(markdown, body, variables)
      .replace(/\n{3,}/g, "\n\n")
      .trim(),
    actions: JSON.parse(textFrom(json, actions, variables)) as InboxAction[],
  };
}

function textFrom(liquid: Liquid, template: Template[], variables: Variables): string {
  const text = liquid.renderSync(template, variables) as string;
  if (text.length > longestText) throw new RangeError(`The text has more than ${longestText} characters.`);
  return text;
}

/** Joins the lines of a text. */
const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
