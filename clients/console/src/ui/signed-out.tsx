// Says that the session has ended while something is filled in, which stays on the page until the user has signed in again.
import { useEffect, useState } from "preact/hooks";
import { ask, changes } from "../api/client";
import { callerId, isSignedOut, signInPath } from "../api/session";
import { useSignal } from "../api/signal";
import { Shell } from "../shell.gql";
import { Dialog } from "./dialog";

/** Continues if the user has signed in again. Another user gets a page of their own. */
async function lookForSession(): Promise<boolean> {
  const found = await ask(Shell, { checks: [] }).catch(() => undefined);
  if (!found) return false;
  if (found.me.id !== callerId.value) location.reload();
  isSignedOut.set(false);
  changes.set(changes.value + 1);
  return true;
}

export function SignedOut() {
  const isOut = useSignal(isSignedOut);
  return isOut ? <SignInAgain /> : null;
}

function SignInAgain() {
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") void lookForSession();
    };
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return (
    <Dialog title="Your session has ended" onClose={() => isSignedOut.set(false)}>
      <p>What you have open is still here. Sign in again in a new tab, then come back to this one and go on.</p>
      {isMissing && (
        <p class="fault" role="alert">
          You are not signed in yet.
        </p>
      )}
      <footer>
        <button type="button" onClick={() => void lookForSession().then((isBack) => setMissing(!isBack))}>
          Go on
        </button>
        <a class="button primary" href={signInPath()} target="_blank" rel="noopener">
          Sign in
        </a>
      </footer>
    </Dialog>
  );
}
