import { Action } from "../ui/action";
import { Status } from "../ui/parts";
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
export function ConversationParts({ conversation, ...place }: Place & { conversation: Conversation }) {
  const { omittedCount, messages } = conversation;
  return (
    <>
      {omittedCount > 0 && <p class="faint">{omittedCount} earlier messages were left out.</p>}
      <ol class="conversation" aria-live="polite">
        {messages.nodes.map(({ id, role, sender, parts, isCut }) => (
          <li key={id} class={role === "USER" ? "input" : "output"}>
            <span class="hidden">{role === "USER" ? "Sent: " : "Agent: "}</span>
            {sender && <span class="faint block">{sender.name || sender.username}</span>}
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
      return <p class="prose">{part.text}</p>;
    case "ToolCallPart":
      return (
        <p>
          {part.title} <Status name={part.callStatus} />
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
    <fieldset aria-label={`Permission: ${title}`}>
      <p>The agent asks for a permission: {title}</p>
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
