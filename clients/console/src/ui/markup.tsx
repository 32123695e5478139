// Formatted texts of others, such as messages of agents. The server makes HTML of their Markdown; what is shown are elements
// of a few kinds that are made here, never markup that the browser parses: the policy of the page forbids that.
import { type ComponentChildren, h } from "preact";
import { useMemo } from "preact/hooks";

/** The elements that are shown, and as what: the headings of a text stand below all those of the page. */
const elements: Record<string, string> = { h1: "h3", h2: "h3", h4: "h3", h5: "h3", h6: "h3" };
for (const name of "p h3 ul ol li blockquote pre code em strong s a br hr".split(" ")) elements[name] = name;

interface Open {
  name: string;
  properties: Record<string, unknown>;
  children: ComponentChildren[];
}

const piece = /<(\/?)([a-z]+[1-6]?)((?: [a-z]+="[^"]*")*) ?\/?>|[^<]+|</g;

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

const textOf = (html: string) => html.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => entities[name]!);

/** The properties of an element: where a link leads, if it leads to the web or writes a mail, and where a list begins. */
function propertiesOf(name: string, attributes: string): Record<string, unknown> {
  const valueOf = (attribute: string) => textOf(new RegExp(` ${attribute}="([^"]*)"`).exec(attributes)?.[1] ?? "");
  const [url, start] = [valueOf("href"), Number(valueOf("start"))];
  if (name === "ol" && start > 1) return { start };
  return name === "a" && /^(https?|mailto):/i.test(url) ? { href: url, target: "_blank", rel: "noreferrer" } : {};
}

/** Makes elements of the HTML of Markdown. Of others, their content is shown. */
function elementsOf(html: string): ComponentChildren[] {
  const whole: Open = { name: "", properties: {}, children: [] };
  const open = [whole];
  const close = () => {
    const { name, properties, children } = open.pop()!;
    open.at(-1)!.children.push(h(name, properties, children));
  };
  for (const [text, isEnd, tag, attributes = ""] of html.matchAll(piece)) {
    const name = tag && elements[tag];
    if (!tag) open.at(-1)!.children.push(textOf(text));
    else if (!name) continue;
    else if (!isEnd) {
      open.push({ name, properties: propertiesOf(name, attributes), children: [] });
      if (name === "br" || name === "hr") close();
    } else if (open.some((each) => each.name === name)) {
      while (open.at(-1)!.name !== name) close();
      close();
    }
  }
  while (open.length > 1) close();
  return whole.children;
}

export function Markup({ html }: { html: string }) {
  const shown = useMemo(() => elementsOf(html), [html]);
  return (
    <div class="markup" dir="auto">
      {shown}
    </div>
  );
}
