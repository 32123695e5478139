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

/** Shows a page of the server, which leads back to the current page. */
function leaveFor(path: string): void {
  const returnTo = new URLSearchParams({ return_to: location.pathname + location.search });
  location.assign(`${path}?${returnTo}`);
}

/** Shows the sign-in page. */
export const signInAgain = (): void => leaveFor("/login");

/** Shows the page of the password, which the user must change before anything else. */
export const changePasswordFirst = (): void => leaveFor("/account/password");
