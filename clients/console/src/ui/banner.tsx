import type { ComponentChildren } from "preact";

const isColor = /^#[0-9a-f]{6}$/i;

/** The relative luminance of a color such as `#1d5fbf`, by which WCAG computes contrasts. */
function luminanceOf(color: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever is easier to read on a color: at least 4.5 to 1. */
const inkOn = (background: string): string => (luminanceOf(background) > 0.179 ? "#000000" : "#ffffff");

const styleOf = (color: string | null | undefined) =>
  color && isColor.test(color) ? { backgroundColor: color, color: inkOn(color) } : undefined;

/** A color with its code. */
export const Swatch = ({ color }: { color: string }) => <code style={styleOf(color)}>{color}</code>;

/** A message above all pages, in the color that the administrator gave it. */
export function Banner({ color, children }: { color?: string | null; children: ComponentChildren }) {
  return (
    <p class="banner" style={styleOf(color)}>
      {children}
    </p>
  );
}
