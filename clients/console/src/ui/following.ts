// A box that scrolls and shows its newest content, until its reader scrolls up.
import { type RefObject } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

interface Following {
  /** The box, whose first child grows. */
  box: RefObject<HTMLDivElement | null>;
  /** Whether the reader has scrolled away from the end. */
  isAway: boolean;
  onScroll: () => void;
  /** Shows the end, and follows it again. */
  follow: () => void;
}

/** Pixels from the end that count as the end. */
const nearness = 24;

export function useFollowing(): Following {
  const box = useRef<HTMLDivElement>(null);
  const [isAway, setAway] = useState(false);
  const isFollowing = useRef(true);
  const last = useRef(0);
  const toEnd = useCallback(() => {
    const shown = box.current;
    if (shown && isFollowing.current) shown.scrollTop = shown.scrollHeight;
  }, []);
  const onScroll = useCallback(() => {
    // It may scroll for the last time after it is gone.
    if (!box.current) return;
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    const isAtEnd = scrollHeight - scrollTop - clientHeight <= nearness;
    // Content that grows leaves the place unchanged: only a reader moves up.
    if (isAtEnd) isFollowing.current = true;
    else if (scrollTop < last.current) isFollowing.current = false;
    last.current = scrollTop;
    setAway(!isFollowing.current);
  }, []);
  const follow = useCallback(() => {
    isFollowing.current = true;
    setAway(false);
    toEnd();
    box.current?.focus();
  }, [toEnd]);
  useEffect(() => {
    const observer = new ResizeObserver(toEnd);
    observer.observe(box.current!);
    observer.observe(box.current!.firstElementChild!);
    return () => observer.disconnect();
  }, [toEnd]);
  return { box, isAway, onScroll, follow };
}
