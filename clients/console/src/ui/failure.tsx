import { useEffect, useState } from "preact/hooks";
import { type Described, describe, headingOf } from "../api/errors";
import { useLatest } from "../api/hooks";

/** Shows that something could not be loaded, with a way to try again: by itself after the time that the server names. */
export function Failure({ error, retry }: { error: unknown; retry: () => void }) {
  const described = describe(error);
  return <Explained key={described.requestId} described={described} retry={retry} />;
}

function Explained({ described, retry }: { described: Described; retry: () => void }) {
  const { code, message, detail, retryAfter, requestId } = described;
  const left = useCountdown(retryAfter, retry);
  const heading = headingOf(described);
  const isFinal = code === "FORBIDDEN" || code === "NOT_FOUND";
  return (
    <section class="failure" role="alert">
      <h2>{heading}</h2>
      {message !== heading && code !== "FORBIDDEN" && <p>{message}</p>}
      {detail && <p>{detail}</p>}
      {code === "FORBIDDEN" && <p>Ask an administrator if you need this page.</p>}
      {code === "INTERNAL_SERVER_ERROR" && requestId && <p>Request ID {requestId}</p>}
      {!isFinal && (
        <button type="button" onClick={retry}>
          {left === undefined ? "Try again" : `Trying again in ${left} s`}
        </button>
      )}
    </section>
  );
}

/** Counts whole seconds down, and calls `then` at the end. */
function useCountdown(seconds: number | undefined, then: () => void): number | undefined {
  const [left, setLeft] = useState(seconds);
  const atTheEnd = useLatest(then);
  useEffect(() => {
    if (left === undefined) return undefined;
    const timer = setTimeout(() => {
      if (left > 1) setLeft(left - 1);
      else atTheEnd();
    }, 1_000);
    return () => clearTimeout(timer);
  }, [left, atTheEnd]);
  return left;
}
