// Messages that appear for a moment, such as that a change was made, with a way to undo it.
import { inSentences } from "../api/errors";
import { signal, useSignal } from "../api/signal";

interface Notice {
  id: number;
  text: string;
  isBad?: boolean;
  /** Whether it reports what others did, and not what was done here. */
  isNews?: boolean;
  undo?: () => Promise<unknown>;
}

const notices = signal<readonly Notice[]>([]);
let last = 0;

const remove = (id: number) => notices.set(notices.value.filter((each) => each.id !== id));

/** Messages of a kind that are shown at a time: news, of which many may arrive together, never hides what was done here. */
const most = { news: 2, own: 3 };

function add(notice: Omit<Notice, "id">, milliseconds: number): void {
  const id = ++last;
  const all = [...notices.value, { ...notice, id }];
  const news = all.filter(({ isNews }) => isNews).slice(-most.news);
  const own = all.filter(({ isNews }) => !isNews).slice(-most.own);
  notices.set([...news, ...own].toSorted((one, other) => one.id - other.id));
  setTimeout(() => remove(id), milliseconds);
}

export const say = (text: string, undo?: () => Promise<unknown>): void => add({ text, undo }, undo ? 10_000 : 4_000);

/** Says what others did, such as a notification that arrived. */
export const announce = (text: string): void => add({ text, isNews: true }, 4_000);

/** Says that something failed. */
export const complain = (text: string): void => add({ text, isBad: true }, 12_000);

/** Runs work, and says why it failed, if it does. */
export async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    complain(inSentences(error));
  }
}

export function NoticeBoard() {
  const shown = useSignal(notices);
  return (
    <output class="notices">
      {shown.map(({ id, text, isBad, undo }) => (
        <p key={id} class={isBad ? "bad" : ""}>
          <span>{text}</span>
          {undo && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                remove(id);
                void attempt(undo);
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => remove(id)}>
            ×
          </button>
        </p>
      ))}
    </output>
  );
}
