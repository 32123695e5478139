import { useEffect, useRef, useState } from "preact/hooks";
import type UPlot from "uplot";
import { locale } from "./text";

interface Series {
  label: string;
  /** A color of the style, such as `accent`. */
  color: string;
  values: readonly number[];
}

interface ChartProps {
  title: string;
  /** The days, as seconds since 1970. */
  days: readonly number[];
  series: readonly Series[];
}

const height = 160;
const dayFormat = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });
const dayOf = (seconds: number) => dayFormat.format(seconds * 1_000);

const isDark = matchMedia("(prefers-color-scheme: dark)");

/** Draws a chart, and returns what removes it. */
function draw(uPlot: typeof UPlot, host: HTMLElement, days: readonly number[], series: readonly Series[]): () => void {
  const probe = host.appendChild(document.createElement("i"));
  const colorOf = (name: string) => {
    probe.className = `ink-${name}`;
    return getComputedStyle(probe).color;
  };
  const axis = { stroke: colorOf("faint"), grid: { stroke: colorOf("line") }, ticks: { show: false } };
  const bars = uPlot.paths.bars!({ size: [0.7, 28], radius: 0.2 });
  const options: UPlot.Options = {
    width: host.clientWidth,
    height,
    padding: [8, 22, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: [days[0]! - 43_200, days.at(-1)! + 43_200] },
      y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, values: (_, ticks) => ticks.map(dayOf), space: 70, size: 26 },
      { ...axis, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    ],
    // Stacked: each series is drawn with those before it, from the highest to the lowest.
    series: [
      {},
      ...series
        .map(({ label, color }) => ({ label, paths: bars, points: { show: false }, fill: colorOf(color), width: 0 }))
        .toReversed(),
    ],
  };
  const stacked = series.map((_, at) =>
    days.map((__, day) => series.slice(0, at + 1).reduce((sum, { values }) => sum + (values[day] ?? 0), 0)),
  );
  const plot = new uPlot(options, [[...days], ...stacked.toReversed()], host);
  const observer = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height }));
  observer.observe(host);
  return () => {
    observer.disconnect();
    plot.destroy();
    probe.remove();
  };
}

/** The library formats numbers in the language of the browser, which under a POSIX locale is none that `Intl` knows. */
function load() {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  }
  return import("uplot");
}

/** Bars of each day. Screen readers get a table of the same numbers, and so do browsers that cannot draw. */
export function Chart({ title, days, series }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [scheme, setScheme] = useState(isDark.matches);
  useEffect(() => {
    const follow = () => setScheme(isDark.matches);
    isDark.addEventListener("change", follow);
    return () => isDark.removeEventListener("change", follow);
  }, []);
  const [isDrawable, setDrawable] = useState(true);
  const key = JSON.stringify([days, series]);
  useEffect(() => {
    let remove = () => {};
    let isGone = false;
    load().then(
      ({ default: uPlot }) => {
        // Its place is gone a moment before this effect is told that it has ended.
        if (!isGone && box.current) remove = draw(uPlot, box.current, days, series);
      },
      () => setDrawable(false),
    );
    return () => {
      isGone = true;
      remove();
    };
    // oxlint-disable-next-line react/exhaustive-deps -- the key stands for the values
  }, [key, scheme]);
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {series.map(({ label, color }) => (
            <span key={label} class={`ink-${color}`}>
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="drawing" aria-hidden="true" />
      {/* A table cannot be made smaller than its rows, and would make the page longer. */}
      <div class={isDrawable ? "hidden" : ""}>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th>Day</th>
              {series.map(({ label }) => (
                <th key={label}>{label}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days.map((day, at) => (
              <tr key={day}>
                <td>{dayOf(day)}</td>
                {series.map(({ label, values }) => (
                  <td key={label}>{values[at]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
