import type { ComponentChild } from "preact";
import { useMemo } from "preact/hooks";

const inline = /\*\*(.+?)\*\*|`(.+?)`|\[(.+?)\]\((https?:[^)\s]+|\/[^)\s]*)\)/g;

/** Shows the parts of Markdown that notifications use: bold text, code, and links. Everything else stays as text. */
export function Markdown({ text }: { text: string }) {
  return useMemo(() => {
    const parts: ComponentChild[] = [];
    let end = 0;
    for (const match of text.matchAll(inline)) {
      const [whole, bold, code, label, url] = match;
      parts.push(text.slice(end, match.index));
      if (bold) parts.push(<b>{bold}</b>);
      else if (code) parts.push(<code>{code}</code>);
      else parts.push(<a href={url}>{label}</a>);
      end = match.index + whole.length;
    }
    return <>{[...parts, text.slice(end)]}</>;
  }, [text]);
}
