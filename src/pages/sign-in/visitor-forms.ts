import { randomBytes } from "node:crypto";
import type { Seals } from "../../domain/deployment/signed-values.js";
import { forbidden } from "../../domain/kernel/errors.js";
import { cookieOf, setCookie } from "../../http/cookies.js";
import { type Html, html } from "../html.js";
import { ownPath, type Visit } from "../visit.js";

/** Identifies a browser that is not signed in, so that it can only send forms of its own. */
const visitorCookie = "service_visitor";

/** The pages with these forms are below. */
const path = "/login";

const purpose = "login form";

/** Forms of visitors who are not signed in. Only the browser that opened one can send it. */
export class VisitorForms {
  /** The ids of browsers that get theirs now, for further forms of the same page. */
  readonly #newcomers = new WeakMap<Visit, string>();

  constructor(private readonly seals: Seals) {}

  /** A form that also keeps where the visitor wants to go after sign-in. */
  async form(visit: Visit, action: string, returnTo: string, fields: Html, marks?: Html): Promise<Html> {
    const token = await this.seals.mark(purpose, await this.browserOf(visit));
    return html`<form method="post" action="${action}" ${marks}>
      <input type="hidden" name="csrf_token" value="${token}" />
      <input type="hidden" name="return_to" value="${returnTo}" />
      ${fields}
    </form>`;
  }

  /** Throws FORBIDDEN unless this browser opened the form. */
  async requireOwn(visit: Visit): Promise<void> {
    const visitor = await this.seals.open("visitor", cookieOf(visit.http.req, visitorCookie));
    const isOwn =
      visitor !== undefined && (await this.seals.isMark(purpose, visitor, visit.form.get("csrf_token") ?? ""));
    if (!isOwn) throw forbidden("This form was not opened in this browser, or its cookie is gone. Try again.");
  }

  /** The id of the browser, which stays the same so that several forms can be open together. */
  async browserOf(visit: Visit): Promise<string> {
    const known =
      this.#newcomers.get(visit) ?? (await this.seals.open("visitor", cookieOf(visit.http.req, visitorCookie)));
    if (known) return known;
    const visitor = randomBytes(16).toString("base64url");
    this.#newcomers.set(visit, visitor);
    setCookie(visit.http, visitorCookie, await this.seals.seal("visitor", visitor), { ...visit.cookies, path });
    return visitor;
  }
}

/** Where a visitor wants to go after sign-in. */
export const returnToOf = ({ query, form, http }: Visit): string =>
  ownPath((http.method === "POST" ? form : query).get("return_to"));
