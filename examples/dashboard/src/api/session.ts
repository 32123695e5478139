// How requests are authenticated: by the token of a sign-in with a password, which lives as long as the tab, or by the
// cookie of a sign-in at an identity provider, which scripts can use only with its CSRF token.
import { useSyncExternalStore } from "react";

const storageKey = "steward-session-token";
const csrfCookie = "service_csrf_token";

const listeners = new Set<() => void>();
const changed = () => listeners.forEach((listener) => listener());

const token = (): string | undefined => sessionStorage.getItem(storageKey) ?? undefined;

const csrfToken = (): string | undefined =>
  document.cookie
    .split("; ")
    .find((pair) => pair.startsWith(`${csrfCookie}=`))
    ?.slice(csrfCookie.length + 1);

export const isSignedIn = (): boolean => token() !== undefined || csrfToken() !== undefined;

/** Whether there is a session. It may have ended meanwhile, which its next request shows. */
export const useIsSignedIn = (): boolean =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, isSignedIn);

export function beginSession(sessionToken: string): void {
  sessionStorage.setItem(storageKey, sessionToken);
  changed();
}

/** Forgets the session, without ending it at the server. */
export function forgetSession(): void {
  sessionStorage.removeItem(storageKey);
  document.cookie = `${csrfCookie}=; Max-Age=0; Path=/`;
  changed();
}

export function credentialHeaders(): Record<string, string> {
  const [session, csrf] = [token(), csrfToken()];
  if (session) return { "Service-Session-Token": session };
  return csrf ? { "X-CSRF-Token": csrf } : {};
}

/** The parameters of a WebSocket. Without a token, the server takes the cookie. */
export const connectionParams = (): { sessionToken?: string } => ({ sessionToken: token() });

/** Ends the session of the cookie, if there is one: only the server can delete it. */
export async function endCookieSession(): Promise<void> {
  const csrf = csrfToken();
  if (!csrf) return;
  await fetch("/logout", { method: "POST", body: new URLSearchParams({ csrf_token: csrf }), redirect: "manual" });
}
