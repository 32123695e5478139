// The conversation of a task, as it is and as it goes on.
import type { Work } from "./builds.js";
import { ApiFailure } from "./failures.js";
import { moment, type Output, words } from "./output.js";
import { TaskChanged, TaskConversation, TaskMessages, type TaskMessagesSubscription } from "./tasks.gql.js";

type Entry = TaskMessagesSubscription["entry"];

/** Milliseconds without a change after which a message that a program writes counts as complete. */
const settling = 1_000;

/** Prints the conversation of a task, and with `isFollowed` what comes, until the task is deleted or the user interrupts. */
export async function showConversation(
  { api, output, signal }: Work,
  task: { task: string; user: string },
  isFollowed: boolean,
): Promise<void> {
  const { task: found } = await api.run(TaskConversation, task);
  const { id, status, logs } = found!;
  if (!isFollowed) {
    if (logs.entries.length === 0) output.note(`Nothing has been said yet. The task is ${words(status)}.`);
    logs.entries.forEach((entry) => print(output, entry));
    return;
  }
  const printer = new Printer(output);
  try {
    logs.entries.forEach(printer.take);
    let isActive = status === "ACTIVE";
    while (!signal.aborted) {
      if (!isActive) {
        printer.flush();
        output.note("The task is not active. Waiting…");
        // Ends when the task is deleted.
        for await (const { task: now } of api.live(TaskChanged, () => ({ id }))) {
          isActive = now.status === "ACTIVE";
          if (isActive) break;
          output.note(`The task is ${words(now.status)}. ${now.currentState?.message ?? ""}`.trim());
        }
        if (!isActive) return;
      }
      try {
        for await (const { entry } of api.live(TaskMessages, () => ({ id }))) printer.take(entry);
      } catch (error) {
        // The program has ended, or the task is paused.
        if (codeOf(error) !== "CONFLICT") throw error;
      }
      isActive = false;
    }
  } catch (error) {
    // The task was deleted between two of the subscriptions.
    if (codeOf(error) !== "NOT_FOUND") throw error;
  } finally {
    printer.flush();
  }
}

const codeOf = (error: unknown) => (error instanceof ApiFailure ? error.code : undefined);

function print(output: Output, entry: Entry): void {
  // The prompt has no sender. No user can be called as a program is, and no text can make up a line of another sender.
  const speaker = entry.type === "OUTPUT" ? "program" : entry.sender ? `@${entry.sender.username}` : "user";
  output.event(entry, `[${moment(entry.time)}] ${speaker}: ${entry.content.replaceAll("\n", "\n  ")}`);
}

/**
 * Prints entries once each, although they are sent again after each reconnection and while a program writes them: the
 * newest entry of a program waits until it no longer changes.
 */
class Printer {
  readonly #printed = new Map<number, string>();
  #open: Entry | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly output: Output) {}

  take = (entry: Entry): void => {
    if (this.#open && this.#open.id !== entry.id) this.flush();
    if (this.#printed.get(entry.id) === entry.content) return;
    this.#open = entry;
    if (entry.type === "INPUT") return this.flush();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), settling);
  };

  flush(): void {
    clearTimeout(this.#timer);
    const entry = this.#open;
    this.#open = undefined;
    if (!entry || this.#printed.get(entry.id) === entry.content) return;
    this.#printed.set(entry.id, entry.content);
    print(this.output, entry);
  }
}
