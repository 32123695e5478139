interface Line {
  id: string;
  output: string;
  level: string;
  stage?: string;
}

/** Lines of a log, with the stage where it changes. */
export const Log = ({ lines, label }: { lines: readonly Line[]; label: string }) => (
  // Scrollable regions can be reached with the keyboard.
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- see above
  <pre className="log" tabIndex={0} role="log" aria-label={label}>
    {lines.length === 0 && <span className="faint">No lines yet.</span>}
    {lines.map(({ id, output, level, stage }, at) => (
      <div key={id} className={level.toLowerCase()}>
        {stage && stage !== lines[at - 1]?.stage && <b>{stage}</b>}
        {output}
      </div>
    ))}
  </pre>
);
