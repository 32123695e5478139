import { useEffect, useState } from "preact/hooks";

/** A value outside of the components, which follow it. */
interface Signal<Value> {
  readonly value: Value;
  set: (value: Value) => void;
  /** Calls `listener` after each change, until the returned function is called. */
  follow: (listener: () => void) => () => void;
}

export function signal<Value>(initial: Value): Signal<Value> {
  const listeners = new Set<() => void>();
  let value = initial;
  return {
    get value() {
      return value;
    },
    set(next) {
      if (next === value) return;
      value = next;
      listeners.forEach((listener) => listener());
    },
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export function useSignal<Value>(followed: Signal<Value>): Value {
  const [value, setValue] = useState(followed.value);
  useEffect(() => {
    const update = () => setValue(followed.value);
    update();
    return followed.follow(update);
  }, [followed]);
  return value;
}
