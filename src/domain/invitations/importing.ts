import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, DomainError, Problems } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { choice, flag, type Input, inputOf, optional, prose, required } from "../kernel/values.js";
import { type Csv, CsvFault, type CsvRow, parseCsv } from "./csv.js";
import { InvitationDelivery } from "./invitations.js";
import { References } from "./invited-access.js";
import { planInvitation, type PlannedInvitation, sendInvitations, takenEmails, takenFault } from "./inviting.js";

const mostRows = 1000;
const longestFile = 400_000;

export const ImportInvitations = inputOf({
  csv: required(prose(longestFile), "The file as text, {limits}."),
  delivery: optional(
    choice(InvitationDelivery),
    "How the links reach the people. Default: MAIL if a mail server is configured, otherwise LINK.",
  ),
  isPreview: optional(flag, "Whether to check all rows, and to invite no people. Default: false."),
});
export type ImportInvitations = Input<typeof ImportInvitations>;

interface RowFault {
  /** Empty for the row as a whole. */
  column: string;
  detail: string;
}

export interface ImportedRow {
  line: number;
  email: string;
  name: string;
  faults: RowFault[];
  link: string | null;
}

/** The columns of a file. */
const columns = ["email", "name", "organizations", "groups", "roles"];

/**
 * Invites the people in the rows of a file, all of them or none. Throws BAD_USER_INPUT with all faults of all rows, unless it
 * is a preview, which returns them.
 */
export async function importInvitations(
  ctx: Context,
  { csv, delivery, isPreview }: ImportInvitations,
): Promise<{ rows: ImportedRow[]; invitedCount: number }> {
  authorize(ctx.actor, "invitation:create", { ownerId: null, siteRoles: [], memberships: [] });
  await ctx.services.limits.invitations.take(requireUser(ctx.actor).userId, ctx.request);
  const { rows: found } = read(csv);
  const references = new References(ctx);
  const taken = await takenEmails(
    ctx,
    found.map(({ cells }) => cells.email ?? ""),
  );
  const seen = new Map<string, number>();
  const rows: ImportedRow[] = [];
  const planned: PlannedInvitation[] = [];
  for (const row of found) {
    const { line, cells } = row;
    const { email = "", name = "" } = cells;
    const { faults, invitation } = await planRow(ctx, row, delivery, references);
    const fault = takenFault(email, taken);
    if (fault) faults.push({ column: "email", detail: fault.detail });
    const first = seen.get(foldCase(email));
    if (first !== undefined) faults.push({ column: "email", detail: `Is in line ${first} already.` });
    else seen.set(foldCase(email), line);
    rows.push({ line, email, name, faults, link: null });
    if (invitation) planned.push(invitation);
  }
  if (isPreview) return { rows, invitedCount: 0 };
  rejectFaults(rows);
  const sent = await sendInvitations(ctx, planned);
  return { rows: rows.map((row, at) => ({ ...row, link: sent[at]!.link })), invitedCount: sent.length };
}

function read(csv: string): Csv {
  const problems = new Problems();
  problems.add("csv", csv.length > longestFile ? `Must be at most ${longestFile} characters.` : undefined);
  problems.throwIfAny();
  try {
    const file = parseCsv(csv, mostRows);
    const unknown = file.columns.filter((name) => !columns.includes(name));
    if (!file.columns.includes("email")) throw new CsvFault("Must have a column named email.");
    if (unknown.length > 0)
      throw new CsvFault(
        `Has the unknown column ${JSON.stringify(unknown[0]!.slice(0, 64))}. Known are ${columns.join(", ")}.`,
      );
    if (file.rows.length === 0) throw new CsvFault("Must have at least one row besides the names of the columns.");
    return file;
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    throw badInput([{ field: "csv", detail: error.message }]);
  }
}

const listIn = (cell = ""): string[] =>
  cell
    .split(";")
    .map((each) => each.trim())
    .filter(Boolean);

/** Checks a row. What its sender may not give is a fault of the row. */
async function planRow(
  ctx: Context,
  { cells, isComplete }: CsvRow,
  delivery: InvitationDelivery | null | undefined,
  references: References,
): Promise<{ faults: RowFault[]; invitation?: PlannedInvitation }> {
  const roles = listIn(cells.roles);
  const named = listIn(cells.organizations);
  const ofRoles = [...new Set(roles.filter((role) => role.includes("/")).map((role) => role.split("/")[0]!))];
  const all = [named, ofRoles, ["default"]].find(({ length }) => length > 0)!;
  const rolesIn = (organization: string) =>
    roles.filter((role) => isIn(role, organization)).map((role) => role.slice(organization.length + 1));
  const organizations = all.map((organization) => ({ organization, roles: rolesIn(organization) as never }));
  const lost = roles.filter((role) => role.includes("/") && !all.some((organization) => isIn(role, organization)));
  const problems = new Problems();
  if (!isComplete) problems.add("", "Must have as many cells as the first line.");
  for (const role of lost)
    problems.add("roles", `${JSON.stringify(role.slice(0, 64))} is in none of the organizations.`);
  const groups = await groupsNamed(references, listIn(cells.groups), problems);
  try {
    const invitation = await planInvitation(
      ctx,
      {
        email: cells.email ?? "",
        name: cells.name ?? "",
        organizations,
        groups,
        roles: roles.filter((role) => !role.includes("/")) as never,
        delivery: delivery ?? null,
      },
      problems,
      references,
    );
    return { faults: faultsIn(problems), invitation };
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "FORBIDDEN") throw error;
    const detail = error.details.detail ?? error.message;
    return { faults: [...faultsIn(problems), { column: error.details.feature ? "groups" : "roles", detail }] };
  }
}

const isIn = (role: string, organization: string): boolean =>
  role.toLowerCase().startsWith(`${organization.toLowerCase()}/`);

/** Resolves `organization/group`, which names cannot be: they have no slash. */
async function groupsNamed(references: References, refs: readonly string[], problems: Problems): Promise<string[]> {
  const found: string[] = [];
  for (const ref of refs) {
    const [organization, name] = ref.split("/");
    if (name === undefined) {
      found.push(ref);
      continue;
    }
    const group = await references.groupOf(organization!, name);
    if (group instanceof DomainError) problems.add("groups", `${JSON.stringify(ref.slice(0, 64))} is no group.`);
    else found.push(group.id);
  }
  return found;
}

/** The faults of a row by its columns, one for each value: `organizations[0].roles[1]` is in the column of roles. */
const faultsIn = (problems: Problems): RowFault[] =>
  problems.found
    .filter(({ field }, at, all) => field === "roles" || all.findLastIndex((each) => each.field === field) === at)
    .map(({ field, detail }) => ({
      column: /^organizations\[\d+\]\.roles/.test(field) ? "roles" : field.replace(/[.[].*$/, ""),
      detail,
    }));

function rejectFaults(rows: readonly ImportedRow[]): void {
  const problems = new Problems();
  for (const { line, faults } of rows)
    for (const { column, detail } of faults)
      problems.add("csv", `Line ${line}${column === "" ? "" : `, ${column}`}: ${detail}`);
  problems.throwIfAny();
}
