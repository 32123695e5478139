// The session is that of the sign-in page: a cookie that scripts cannot read, which the server accepts together with the
// token of a second cookie.
import { useEffect, useRef } from "preact/hooks";
import { signal } from "./signal";

const csrfCookie = "service_csrf_token";

export const csrfToken = (): string =>
  document.cookie
    .split("; ")
    .find((pair) => pair.startsWith(`${csrfCookie}=`))
    ?.slice(csrfCookie.length + 1) ?? "";

/** The ID of the caller, once it is known. */
export const callerId = signal<string | undefined>(undefined);

/** The path of a page of the server, which leads back to the current page. */
const pathTo = (path: string): string =>
  `${path}?${new URLSearchParams({ return_to: location.pathname + location.search })}`;

const leaveFor = (path: string): void => location.assign(pathTo(path));

/** Those that hold what is filled in on the page and not sent. */
const unsaved = new Set<object>();

/** Keeps the page when the session ends, as long as something is filled in. */
export function useUnsaved(isFilled: boolean): void {
  const holder = useRef({}).current;
  useEffect(() => {
    if (!isFilled) return undefined;
    unsaved.add(holder);
    return () => void unsaved.delete(holder);
  }, [holder, isFilled]);
}

/** Whether the session has ended while something was filled in, which the page keeps until the user is signed in again. */
export const isSignedOut = signal(false);

/** Where users sign in, and are led back to this page. */
export const signInPath = (): string => pathTo("/login");

/** Shows the sign-in page, or says that it is needed while the page has what would be lost. */
export function signInAgain(): void {
  if (unsaved.size > 0) isSignedOut.set(true);
  else leaveFor("/login");
}

/** Shows the page of the password, which the user must change before anything else. */
export const changePasswordFirst = (): void => leaveFor("/account/password");

/** Shows the page of the second factor, which the user must add before anything else. */
export const addFactorFirst = (): void => leaveFor("/account/second-factor");
