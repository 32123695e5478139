// The session is that of the sign-in page: a cookie that scripts cannot read, which the server accepts together with the
// token of a second cookie.
import { signal } from "./signal";

const csrfCookie = "service_csrf_token";

export const csrfToken = (): string =>
  document.cookie
    .split("; ")
    .find((pair) => pair.startsWith(`${csrfCookie}=`))
    ?.slice(csrfCookie.length + 1) ?? "";

/** The ID of the caller, once it is known. */
export const callerId = signal<string | undefined>(undefined);

/** Shows the sign-in page, which leads back to the current page. */
export function signInAgain(): void {
  const returnTo = new URLSearchParams({ return_to: location.pathname + location.search });
  location.assign(`/login?${returnTo}`);
}
