// Visits to identity providers and back, without a browser: redirects, cookies, and the two forms of npm's oidc-provider.
import type { ForgingProvider } from "./forging-provider.js";
import { Client } from "./world.js";

/** A browser without scripts: it keeps cookies by origin. */
export class Visitor {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** `home` is the URL of the server. */
  constructor(readonly home: string) {}

  /** Requests a URL without following redirects, and keeps the cookies of the response. */
  async request(url: URL, form?: Record<string, string>): Promise<Response> {
    const jar = this.#cookies.get(url.origin) ?? new Map<string, string>();
    this.#cookies.set(url.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie, accept: "text/html" },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      if (value === "") jar.delete(name!);
      else jar.set(name!, value!);
    }
    return response;
  }

  /**
   * Signs in at a provider as `subject`, and returns. Resolves to the response of the last page of the server: 303 if that
   * worked. Text is that of the page without its tags.
   */
  async signIn(subject: string, path = "/login/oidc"): Promise<{ status: number; text: string; location: string }> {
    let url = new URL(path, this.home);
    let form: Record<string, string> | undefined;
    for (let steps = 0; steps < 20; steps++) {
      const response = await this.request(url, form);
      form = undefined;
      const location = response.headers.get("location");
      const page = await response.text();
      const isHere = url.origin === this.home;
      if (isHere && (location === null || url.pathname.endsWith("/callback")))
        return { status: response.status, text: textOf(page), location: location ?? "" };
      form = undefined;
      if (location === null) {
        const isConsent = page.includes('name="prompt" value="consent"');
        form = isConsent ? { prompt: "consent" } : { prompt: "login", login: subject, password: "any" };
      }
      url = new URL(location ?? /<form[^>]* action="([^"]*)"/.exec(page)![1]!, url);
    }
    throw new Error("The provider leads in circles.");
  }

  /** Keeps a cookie of the server, as if a response had set it. */
  keep(name: string, value: string): void {
    const { origin } = new URL(this.home);
    this.#cookies.set(origin, new Map(this.#cookies.get(origin)).set(name, value));
  }

  /** The value of a cookie of the server. */
  cookie = (name: string): string | undefined => this.#cookies.get(new URL(this.home).origin)?.get(name);

  /** The session that a sign-in began. */
  get token(): string | undefined {
    return this.cookie("service_session_token");
  }

  /** A client with this session. */
  get client(): Client {
    return new Client(this.home, this.token);
  }
}

/** Signs in at a provider that sends claims of our making, under its name here. Resolves to the response of the server. */
export async function signInWith(
  visitor: Visitor,
  name: string,
  provider: ForgingProvider,
  claims: Record<string, unknown>,
): Promise<Response> {
  const begun = await visitor.request(new URL(`/login/${name}`, visitor.home));
  const { searchParams } = new URL(begun.headers.get("location")!);
  provider.nonce = searchParams.get("nonce")!;
  provider.claims = claims;
  const query = new URLSearchParams({ code: "a-code", state: searchParams.get("state")! }).toString();
  return visitor.request(new URL(`/login/${name}/callback?${query}`, visitor.home));
}

const textOf = (page: string): string =>
  page
    .replace(/<(style|script)[^]*?<\/\1>/g, "")
    .replace(/<[^>]+>/g, " ")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, " ");
