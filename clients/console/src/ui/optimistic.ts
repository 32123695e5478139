import { useEffect, useRef, useState } from "preact/hooks";
import { attempt } from "./notices";

/**
 * Shows a value as a change will leave it, before the server has responded. Changes are made in order. If the server
 * rejects one, it is taken back, and the reason is said.
 */
export function useOptimistic<Value>(
  stored: Value,
): [shown: Value, change: (value: Value, work: () => Promise<unknown>) => void] {
  const [expected, setExpected] = useState<{ value: Value }>();
  const waiting = useRef(0);
  const last = useRef(Promise.resolve());
  useEffect(() => {
    if (waiting.current === 0) setExpected(undefined);
  }, [stored]);
  const change = (value: Value, work: () => Promise<unknown>) => {
    const mine = { value };
    setExpected(mine);
    waiting.current++;
    const act = async () => {
      try {
        await work();
      } catch (error) {
        setExpected((latest) => (latest === mine ? undefined : latest));
        throw error;
      } finally {
        waiting.current--;
      }
    };
    last.current = last.current.then(() => attempt(act));
  };
  return [expected ? expected.value : stored, change];
}
