import { type ReactNode, useMemo } from "react";

const inline = /\*\*(.+?)\*\*|`(.+?)`|\[(.+?)\]\((https?:[^)\s]+|\/[^)\s]*)\)/g;

/** Shows the parts of Markdown that notifications use: bold text, code, and links. Everything else stays as it is. */
export function Markdown({ text }: { text: string }): ReactNode {
  return useMemo(() => {
    const parts: ReactNode[] = [];
    let end = 0;
    for (const match of text.matchAll(inline)) {
      const [whole, bold, code, label, url] = match;
      parts.push(text.slice(end, match.index));
      if (bold) parts.push(<b key={match.index}>{bold}</b>);
      else if (code) parts.push(<code key={match.index}>{code}</code>);
      else
        parts.push(
          <a key={match.index} href={url}>
            {label}
          </a>,
        );
      end = match.index + whole.length;
    }
    return [...parts, text.slice(end)];
  }, [text]);
}
