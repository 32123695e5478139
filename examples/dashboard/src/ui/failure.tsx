import { useEffect, useState } from "react";
import { type Described, describe, headingOf } from "../api/errors";

/** Shows that something could not be loaded, with a way to try again: by itself after the time that the server asks for. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const described = describe(error);
  return <Explained key={described.requestId} described={described} retry={retry} />;
}

function Explained({ described, retry }: { described: Described; retry?: () => void }) {
  const { code, message, detail, retryAfter, requestId } = described;
  const left = useCountdown(retryAfter, retry);
  const heading = headingOf(described);
  return (
    <section className="failure" role="alert">
      <h2>{heading}</h2>
      {message !== heading && code !== "FORBIDDEN" && <p>{message}</p>}
      {detail && <p>{detail}</p>}
      {code === "FORBIDDEN" && <p>Ask an administrator if you need this page.</p>}
      {code === "INTERNAL_SERVER_ERROR" && requestId && <p>Request ID {requestId}</p>}
      {retry && code !== "FORBIDDEN" && code !== "NOT_FOUND" && (
        <button type="button" onClick={retry}>
          {left === undefined ? "Try again" : `Trying again in ${left} s`}
        </button>
      )}
    </section>
  );
}

/** Counts whole seconds down, and calls `then` at the end. */
function useCountdown(seconds: number | undefined, then?: () => void): number | undefined {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (left === undefined) return undefined;
    const timer = setTimeout(() => {
      if (left > 1) setLeft(left - 1);
      else then?.();
    }, 1_000);
    return () => clearTimeout(timer);
  }, [left, then]);
  return left;
}
