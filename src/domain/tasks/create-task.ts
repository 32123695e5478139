import { sql } from "kysely";
import { auditedAs } from "../kernel/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { conflictOn, DomainError, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { anyOf, now } from "../kernel/queries.js";
import {
  check,
  faultOf,
  inputOf,
  type Input,
  label,
  urlName,
  optional,
  orEmpty,
  reference,
  required,
  textBy,
  uuid,
} from "../kernel/values.js";
import { findUser } from "../users/users.js";
import { buildsByIds } from "../workspaces/builds.js";
import { createWorkspace } from "../workspaces/create-workspace.js";
import { type Built } from "../workspaces/transitions.js";
import { type BuildVersion, creationProblem, readVersion } from "../workspaces/build-versions.js";
import { requireBudget } from "../groups/ai-spending.js";
import { inputProblem, taskText } from "./input-text.js";
import { displayNameFor, nameFor } from "./task-names.js";
import { ownerHint } from "./task-status.js";
import { addTaskBuild } from "./workspace-events.js";
import { longestLabel, longestName } from "../../entities/lengths.js";

/** A name that people see, with or without white space around it. */
const shownName = textBy((given) => faultOf(label(longestLabel), given.trim()), { maxLength: longestLabel });

export const CreateTask = inputOf({
  user: optional(reference, "The owner: ID, username, or `me`. Default: `me`."),
  templateVersionId: required(uuid, "ID of a template version with an AI task."),
  templateVersionPresetId: optional(uuid, "ID of a preset of the version. The zero UUID means none."),
  input: optional(taskText, "The prompt. Default: empty."),
  name: optional(orEmpty(urlName(longestName)), "Name of the task and its workspace. Default: from the prompt."),
  displayName: optional(shownName, "Name that people see. Default: first line of the prompt."),
});
export type CreateTask = Input<typeof CreateTask>;

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
  problems.add("displayName", faultOf(shownName, displayName));
  problems.add("input", inputProblem(ctx, prompt));
  if (!version) {
    check(CreateTask, { name: input.name }, problems);
    return problems.throwIfAny() as never;
  }

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
async function versionFor(ctx: Context, id: string, problems: Problems): Promise<BuildVersion | undefined> {
  const version = await readVersion(ctx, id);
  const isSeen = version !== undefined && sees(ctx.actor, "template:read", version);
  const problem = isSeen ? creationProblem(version) : versionRule;
  const isFit = isSeen && problem === undefined && version.document.ai_task !== undefined;
  problems.add("templateVersionId", isFit ? undefined : (problem ?? "The template version has no AI task."));
  return isFit ? version : undefined;
}

/** Number of names that are derived from a prompt until one is free. */
const mostNames = 5;

async function freeName(ctx: Context, ownerId: string, prompt: string): Promise<string> {
  const names = Array.from({ length: mostNames }, () => nameFor(prompt));
  const taken = await ctx.db
    .selectFrom("workspaces")
    .select(sql<string>`lower(name)`.as("name"))
    .where("ownerId", "=", ownerId)
    .where("deletedAt", "is", null)
    .where(sql`lower(name)`, "=", anyOf(names, "text"))
    .execute();
  return names.find((name) => !taken.some((each) => each.name === name)) ?? names[0]!;
}

/** Creates the workspace of a task. Throws its faults together with those of the task. */
async function workspaceFor(ctx: Context, input: CreateTask & { name: string }, problems: Problems): Promise<Built> {
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

const nameTaken = onViolation({
  tasks_name_unique: () => conflictOn("name", "The owner has another task of this name."),
});

async function store(ctx: Context, { version, prompt, buildId, ...fields }: NewTask): Promise<string> {
  const id = newId();
  const { organizationId, id: versionId } = version;
  await ctx.db
    .insertInto("tasks")
    .values({ id, createdAt: now, updatedAt: now, organizationId, versionId, initialPrompt: prompt, ...fields })
    .execute()
    .catch(nameTaken);
  const [build] = await buildsByIds(ctx, [buildId]);
  await addTaskBuild(ctx, { id, ownerId: fields.ownerId }, build!.buildNumber);
  return id;
}
