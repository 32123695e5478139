import { Action } from "../ui/action";
import { Markup } from "../ui/markup";
import { Status } from "../ui/parts";
import { SenderName } from "./conversation";
import { DecideTaskPermission, type TaskPartsQuery } from "./tasks.gql";

export type Conversation = NonNullable<NonNullable<TaskPartsQuery["task"]>["conversation"]>;
type Message = Conversation["messages"]["nodes"][number];
type Part = Message["parts"][number];

interface Place {
  taskId: string;
  /** Whether the viewer can decide about permissions now. */
  mayDecide: boolean;
}

/** The structured conversation of a task: texts, calls of tools with their results, and requests for permissions. */
export function ConversationParts({
  conversation,
  prompt,
  ...place
}: Place & { conversation: Conversation; prompt: string }) {
  const { omittedCount, messages } = conversation;
  return (
    <>
      {omittedCount > 0 && <p class="faint">{omittedCount} earlier messages were left out.</p>}
      <ol class="conversation">
        {withoutPrompt(messages.nodes, prompt).map(({ id, role, sender, parts, isCut }) => (
          <li key={id} class={role === "USER" ? "input" : "output"}>
            <span class="hidden">{role === "USER" ? "Sent: " : "Agent: "}</span>
            {sender && <SenderName of={sender} />}
            {addKeys(parts).map(({ key, part }) => (
              <PartView key={key} part={part} {...place} />
            ))}
            {isCut && <p class="faint">A part of this message was cut.</p>}
          </li>
        ))}
      </ol>
    </>
  );
}

/** The messages without the prompt, which stands above them and is their first one. */
function withoutPrompt(messages: readonly Message[], prompt: string): readonly Message[] {
  const at = messages.findIndex(({ role }) => role === "USER");
  const part = messages[at]?.parts[0];
  const isPrompt = part?.__typename === "TextPart" && isSameText(part.text, prompt);
  return isPrompt ? messages.toSpliced(at, 1) : messages;
}

/** Whether texts differ in white space only: programs wrap lines. */
export const isSameText = (one: string, other: string): boolean =>
  one.replace(/\s+/g, " ").trim() === other.replace(/\s+/g, " ").trim();

/** Parts with keys: their types, numbered. Parts keep their order while a message grows. */
function addKeys(parts: readonly Part[]) {
  const counts = new Map<string, number>();
  return parts.map((part) => {
    const count = (counts.get(part.__typename) ?? 0) + 1;
    counts.set(part.__typename, count);
    return { key: `${part.__typename} ${count}`, part };
  });
}

function PartView({ part, taskId, mayDecide }: Place & { part: Part }) {
  switch (part.__typename) {
    case "TextPart":
      return <Markup html={part.html} />;
    case "ToolCallPart":
      return (
        <p class="tool">
          <span>{part.title}</span> <Status name={part.callStatus} />
        </p>
      );
    case "ToolResultPart":
      return <pre class={part.isError ? "fault" : undefined}>{part.result}</pre>;
    case "InterruptPart":
      return <p class="faint">{part.reason}</p>;
    default:
      return <Permission part={part} taskId={taskId} mayDecide={mayDecide} />;
  }
}

function Permission({ part, taskId, mayDecide }: Place & { part: Extract<Part, { __typename: "PermissionPart" }> }) {
  const { requestId, title, options, optionId, isCanceled } = part;
  const chosen = options.find(({ id }) => id === optionId);
  if (chosen || isCanceled)
    return (
      <p class="faint">
        {title}: {chosen ? chosen.name : "no decision"}
      </p>
    );
  return (
    <fieldset class="decision" aria-label={`Permission: ${title}`}>
      <p>
        The agent asks for a permission: <b>{title}</b>
      </p>
      {mayDecide &&
        options.map(({ id, name, kind }) => (
          <Action
            key={id}
            label={name}
            look={kind.startsWith("ALLOW") ? "primary" : undefined}
            run={DecideTaskPermission}
            given={{ task: taskId, requestId, optionId: id }}
          />
        ))}
    </fieldset>
  );
}
