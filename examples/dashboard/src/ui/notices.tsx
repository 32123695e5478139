import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { inOneSentence } from "../api/errors";

interface Notice {
  id: number;
  text: string;
  isBad: boolean;
}

interface Notices {
  say: (text: string) => void;
  /** Runs work, and says why it failed, if it does. */
  attempt: (work: () => Promise<unknown>, success?: string) => Promise<void>;
}

const Context = createContext<Notices | undefined>(undefined);

export const useNotices = (): Notices => useContext(Context)!;

/** Shows messages for a moment, and reads them out. */
export function NoticeBoard({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<Notice[]>([]);
  const remove = useCallback((id: number) => setNotices((all) => all.filter((each) => each.id !== id)), []);
  const add = useCallback(
    (text: string, isBad: boolean) => {
      const id = performance.now();
      setNotices((all) => [...all.slice(-3), { id, text, isBad }]);
      setTimeout(() => remove(id), isBad ? 12_000 : 4_000);
    },
    [remove],
  );
  const value = useMemo<Notices>(
    () => ({
      say: (text) => add(text, false),
      attempt: async (work, success) => {
        try {
          await work();
          if (success) add(success, false);
        } catch (error) {
          add(inOneSentence(error), true);
        }
      },
    }),
    [add],
  );
  return (
    <Context value={value}>
      {children}
      <output className="notices">
        {notices.map(({ id, text, isBad }) => (
          <p key={id} className={isBad ? "bad" : ""}>
            {text}
            <button type="button" className="plain" aria-label="Dismiss" onClick={() => remove(id)}>
              ×
            </button>
          </p>
        ))}
      </output>
    </Context>
  );
}
