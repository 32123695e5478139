import { useEffect, useRef } from "preact/hooks";

export interface Line {
  id: string | number;
  output: string;
  level: string;
  stage?: string;
}

/** Lines of a log, with the stage where it changes. It follows its end, unless the reader scrolls up. */
export function Log({ lines, label }: { lines: readonly Line[]; label: string }) {
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.length]);
  return (
    <pre
      ref={box}
      class="log"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolled with the keyboard
      tabIndex={0}
      role="log"
      aria-label={label}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
      }}
    >
      {lines.length === 0 && <span class="faint">No lines yet.</span>}
      {lines.map(({ id, output, level, stage }, at) => (
        <span key={id} class={level.toLowerCase()}>
          {stage && stage !== lines[at - 1]?.stage && <b>{stage}</b>}
          {output}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** A long text, which is scrolled. */
export const TextBox = ({ label, children }: { label: string; children: string }) => (
  <section
    class="log"
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolled with the keyboard
    tabIndex={0}
    aria-label={label}
  >
    <code>{children}</code>
  </section>
);
