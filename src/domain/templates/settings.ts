import { type Diff, diffOf } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { Problems } from "../kernel/errors.js";
import { displayNameProblem, iconProblem, nameProblem, proseProblem, wholeNumber } from "../kernel/text.js";
import type { TemplateRow } from "./templates.js";

/** A day of the week, as `Date.getDay` numbers them. */
export const Weekday = { SUNDAY: 0, MONDAY: 1, TUESDAY: 2, WEDNESDAY: 3, THURSDAY: 4, FRIDAY: 5, SATURDAY: 6 } as const;
export type Weekday = (typeof Weekday)[keyof typeof Weekday];

/** The settings of a new template. */
export const defaultSettings = {
  displayName: "",
  description: "",
  icon: "",
  defaultTtlSeconds: 0,
  activityBumpSeconds: 3600,
  autostopDays: [] as number[],
  dormantAfterSeconds: 0,
  deleteAfterSeconds: 0,
  allowUserCancel: true,
  requireActiveVersion: false,
  deprecationMessage: "",
};

export type StoredSettings = Pick<TemplateRow, keyof typeof defaultSettings>;

/** What users set of a template. Absent and null values keep what is stored, or take the default. */
export type TemplateFields = { [Name in "name" | keyof StoredSettings]?: TemplateRow[Name] | null };

/** Seconds: ten years. */
const longest = 315_360_000;
export const durationRule = wholeNumber(0, longest);

const durations = ["defaultTtlSeconds", "activityBumpSeconds", "dormantAfterSeconds", "deleteAfterSeconds"] as const;

/** Adds the faults of the given fields. */
export function addFieldProblems(problems: Problems, fields: TemplateFields): void {
  const { name, displayName, description, icon, deprecationMessage } = fields;
  if (name != null) problems.add("name", nameProblem(name));
  if (displayName != null) problems.add("displayName", displayNameProblem(displayName));
  if (description != null) problems.add("description", proseProblem(description, 1000));
  if (deprecationMessage != null) problems.add("deprecationMessage", reasonProblem(deprecationMessage));
  if (icon != null) problems.add("icon", iconProblem(icon));
  for (const each of durations) {
    const value = fields[each] ?? 0;
    problems.add(each, value < 0 || value > longest ? durationRule : undefined);
  }
}

const reasonProblem = (text: string): string | undefined =>
  text !== "" && text.trim() === "" ? "Must not be blank." : proseProblem(text, 1000);

/** Throws FORBIDDEN if changes need a license that the deployment lacks. Switching off needs none. */
export function requireScheduling(ctx: Context, diff: Diff): void {
  const scheduled = [diff.autostopDays, diff.dormantAfterSeconds, diff.deleteAfterSeconds];
  if (scheduled.some((change) => isUsed(change?.new))) requireFeature(ctx, "advanced_template_scheduling");
}

const isUsed = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));

/** The changes that fields make, without what is not a field. Days are ordered, and each counts once. */
export const changesOf = (before: Partial<TemplateRow>, { autostopDays, ...fields }: TemplateFields): Diff =>
  diffOf<TemplateFields>(before, {
    ...Object.fromEntries(fieldNames.map((name) => [name, fields[name as keyof typeof fields]])),
    autostopDays: autostopDays && [...new Set(autostopDays)].toSorted((a, b) => a - b),
  });

const fieldNames = ["name", ...Object.keys(defaultSettings).filter((name) => name !== "autostopDays")];
