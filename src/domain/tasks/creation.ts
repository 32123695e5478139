import { auditedAs } from "../audit/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflictOn, DomainError, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { displayNameProblem } from "../kernel/text.js";
import { findUser } from "../users/users.js";
import { type Built } from "../workspaces/transitions.js";
import { createWorkspace } from "../workspaces/creation.js";
import { type BuildVersion, creationProblem, readVersion } from "../workspaces/versions.js";
import { requireBudget } from "./budget.js";
import { ownerHint } from "./hints.js";
import { inputProblem } from "./inputs.js";
import { displayNameFor, nameFor } from "./names.js";

export interface CreateTask {
  /** The owner: id, username or `me`, which is the default. */
  user?: string | null;
  templateVersionId?: string | null;
  /** The zero UUID means none. */
  templateVersionPresetId?: string | null;
  /** The prompt. */
  input?: string | null;
  /** Default: from the prompt. */
  name?: string | null;
  displayName?: string | null;
}

const noPreset = "00000000-0000-0000-0000-000000000000";

/**
 * Creates a task, and the workspace with its name, which it starts. Returns the id of the task. Throws NOT_FOUND unless
 * the owner is a member of the organization of the template, FORBIDDEN for callers who may not create its tasks or
 * while the AI budget is spent, BAD_USER_INPUT with all faults.
 */
export async function createTask(ctx: Context, input: CreateTask): Promise<string> {
  const owner = await findUser(ctx, input.user ?? "me");
  const problems = new Problems();
  const version = await versionFor(ctx, input.templateVersionId, problems);
  if (version) {
    const { organizationId } = version;
    if (!owner.memberships.some((each) => each.organizationId === organizationId)) throw notFound();
    authorize(ctx.actor, "task:create", { ownerId: owner.id, organizationId });
    await requireBudget(ctx, owner.id, organizationId);
  }
  const prompt = input.input ?? "";
  const displayName = input.displayName?.trim() ?? "";
  problems.add("displayName", displayNameProblem(displayName));
  problems.add("input", inputProblem(ctx, prompt));
  if (!version) return problems.throwIfAny() as never;

  const name = input.name || (await freeName(ctx, owner.id, prompt));
  const built = await workspaceFor(ctx, { ...input, user: owner.id, name }, problems);
  const labels = { name, displayName: displayName || displayNameFor(prompt, name), prompt };
  const id = await store(ctx, { ...built, ...labels, ownerId: owner.id, version, presetId: presetOf(input) });
  ctx.audit({ action: "create", ...auditedAs("task", id, name, version.organizationId) });
  ctx.publish(ownerHint(owner.id));
  return id;
}

const presetOf = ({ templateVersionPresetId: id }: CreateTask): string | null => (id && id !== noPreset ? id : null);

const versionRule = "Must be the id of an imported template version that you can use, with an AI task.";

/** Reads the version of a task. Adds a fault if there is none that the caller can see and that has an AI task. */
async function versionFor(
  ctx: Context,
  id: string | null | undefined,
  problems: Problems,
): Promise<BuildVersion | undefined> {
  const version = id ? await readVersion(ctx, id) : undefined;
  const isSeen = version !== undefined && sees(ctx.actor, "template:read", version);
  const problem = isSeen ? creationProblem(version) : id ? versionRule : "Is required.";
  const isFit = isSeen && problem === undefined && version.document.ai_task !== undefined;
  problems.add("templateVersionId", isFit ? undefined : (problem ?? "The template version has no AI task."));
  return isFit ? version : undefined;
}

const unusedNames = statement<{ name: string }>(`
  select name from unnest($2::text[]) with ordinality as c (name, place)
  where not exists (select from workspaces w where w.owner_id = $1 and lower(w.name) = c.name and w.deleted_at is null)
  order by place limit 1`);

/** Number of names that are derived from a prompt until one is free. */
const mostNames = 5;

async function freeName(ctx: Context, ownerId: string, prompt: string): Promise<string> {
  const names = Array.from({ length: mostNames }, () => nameFor(prompt));
  return (await ctx.row(unusedNames, ownerId, names))?.name ?? names[0]!;
}

/** Creates the workspace of a task. Throws its faults together with those of the task. */
async function workspaceFor(ctx: Context, input: CreateTask, problems: Problems): Promise<Built> {
  const { user: owner, name, templateVersionId } = input;
  const built = await createWorkspace(ctx, { owner, name, templateVersionId, presetId: presetOf(input) }).catch(
    (error: unknown) => {
      if (!(error instanceof DomainError) || error.code !== "BAD_USER_INPUT") throw error;
      for (const { field, detail } of error.details.validations ?? [])
        problems.add(fieldOf(field), detailOf(field, detail));
      return problems.throwIfAny() as never;
    },
  );
  problems.throwIfAny();
  return built;
}

/** A parameter without a value is a fault of the preset, which could have given one. */
const fieldOf = (field: string): string =>
  field === "presetId" || field.startsWith("parameters.") ? "templateVersionPresetId" : field;

const detailOf = (field: string, detail: string): string =>
  field.startsWith("parameters.") ? `The parameter ${field.slice("parameters.".length)}: ${detail}` : detail;

interface NewTask extends Built {
  ownerId: string;
  version: BuildVersion;
  presetId: string | null;
  name: string;
  displayName: string;
  prompt: string;
}

const insertTask = statement(`
  with task as (
    insert into tasks (id, created_at, updated_at, owner_id, organization_id, name, display_name, initial_prompt,
      version_id, preset_id, workspace_id)
    values ($1, now(), now(), $2, $3, $4, $5, $6, $7, $8, $9)
  ), seat as (update users set ai_seat_at = now() where id = $2)
  insert into task_builds (task_id, build_number) select $1, build_number from workspace_builds where id = $10`);

const nameTaken = onViolation({
  tasks_name_unique: () => conflictOn("name", "The owner has another task of this name."),
});

async function store(ctx: Context, task: NewTask): Promise<string> {
  const id = newId();
  const { ownerId, version, name, displayName, prompt, presetId, workspaceId, buildId } = task;
  const labels = [name, displayName, prompt];
  const values = [ownerId, version.organizationId, ...labels, version.id, presetId, workspaceId, buildId];
  await ctx.row(insertTask, id, ...values).catch(nameTaken);
  return id;
}
