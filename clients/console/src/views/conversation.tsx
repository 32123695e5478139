// The conversation of a task: its prompt, the messages with the decisions that the agent needs, what waits to be delivered,
// and the field for the next message.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { perform } from "../api/client";
import { inSentences } from "../api/errors";
import { faultOf } from "../api/limits";
import { useUnsaved } from "../api/session";
import { Action } from "../ui/action";
import { useFollowing } from "../ui/following";
import { Status, Time } from "../ui/parts";
import {
  CancelTaskInput,
  EditTaskInput,
  SendTaskInput,
  type TaskMessagesSubscription,
  type TaskQuery,
} from "./tasks.gql";

/** A box with messages, which follows the newest one. */
export function Thread({ children }: { children: ComponentChildren }) {
  const { box, isAway, onScroll, follow } = useFollowing();
  return (
    <div class="thread">
      <div
        ref={box}
        class="messages"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrolled with the keyboard
        tabIndex={0}
        role="log"
        aria-label="Messages"
        onScroll={onScroll}
      >
        <div>{children}</div>
      </div>
      {isAway && (
        <button type="button" class="newest" onClick={follow}>
          Newest
        </button>
      )}
    </div>
  );
}

export type Entry = TaskMessagesSubscription["taskMessages"];

interface Sender {
  name: string;
  username: string;
}

/** The name of a person in a conversation. */
export const SenderName = ({ of }: { of: Sender }) => (
  <span class="faint block">
    <bdi>{of.name || of.username}</bdi>
  </span>
);

/** The messages of a program that does not report their parts, as it prints them. */
export const PlainMessages = ({ entries }: { entries: readonly Entry[] }) => (
  <ol class="conversation">
    {entries.map((entry) => (
      <li key={entry.id} class={entry.type.toLowerCase()}>
        <span class="hidden">{entry.type === "INPUT" ? "Sent: " : "Agent: "}</span>
        {entry.sender && <SenderName of={entry.sender} />}
        <p class="plain-text" dir="auto">
          {entry.content}
        </p>
      </li>
    ))}
  </ol>
);

type Waiting = NonNullable<TaskQuery["task"]>["inputs"][number];

interface WaitingProps {
  inputs: readonly Waiting[];
  mayTalk: boolean;
  /** Whether the caller may change the messages of a person. */
  mayChange: (senderId: string) => boolean;
}

/** Messages that the program has not received, in the order in which it will. */
export const WaitingMessages = ({ inputs, mayTalk, mayChange }: WaitingProps) => (
  <ol class="conversation" aria-label="Not yet delivered">
    {inputs.map((input) => (
      <li key={input.id} class="input waiting">
        <SenderName of={input.sender} />
        <p class="plain-text" dir="auto">
          {input.content}
        </p>
        <p class="state">
          <Status name={input.state} /> <Time at={input.createdAt} />
          {mayChange(input.sender.id) && input.state === "QUEUED" && (
            <>
              {mayTalk && (
                <Action
                  label="Edit"
                  on={input.content}
                  title="Edit what is queued"
                  run={EditTaskInput}
                  given={{ id: input.id }}
                  fields={[{ name: "input", label: "Text" }]}
                  values={{ input: input.content }}
                  prepare={(values) => ({ input: (values.input as string | undefined) ?? input.content })}
                  submit="Save"
                  look="plain"
                />
              )}
              <Action label="Cancel" on={input.content} run={CancelTaskInput} given={{ id: input.id }} look="plain" />
            </>
          )}
        </p>
        {input.lastError && <p class="fault">{input.lastError}</p>}
      </li>
    ))}
  </ol>
);

/** The field for the next message: Enter sends it, also with Ctrl or Command, and Shift+Enter begins a new line. */
export function Composer({ taskId, isBusy }: { taskId: string; isBusy: boolean }) {
  const note = useId();
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();
  useUnsaved(text !== "");

  async function send() {
    const sent = text;
    if (sent.trim() === "") return;
    const broken = faultOf(sent, SendTaskInput.input.input ?? {});
    setFault(broken);
    if (broken !== undefined) return;
    setText("");
    try {
      await perform(SendTaskInput, { input: { task: taskId, input: sent } });
    } catch (error) {
      setFault(inSentences(error));
      // What was typed meanwhile comes after it.
      setText((typed) => [sent, typed].filter(Boolean).join("\n"));
    }
  }

  const sendByKey = (event: KeyboardEvent) => {
    // Enter ends the composition of a character, too.
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    void send();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        aria-label="Message"
        rows={2}
        value={text}
        dir="auto"
        placeholder="Write to the agent"
        aria-invalid={fault ? true : undefined}
        aria-describedby={note}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={sendByKey}
      />
      <button type="submit" class="primary">
        Send
      </button>
      <p id={note} class={fault ? "fault" : "hint"} role={fault ? "alert" : undefined}>
        {fault ??
          `Enter sends, Shift+Enter begins a new line.${isBusy ? " The agent works: it gets the message next." : ""}`}
      </p>
    </form>
  );
}
