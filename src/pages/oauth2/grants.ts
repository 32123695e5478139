import type { Context } from "../../domain/kernel/context.js";
import { translate } from "../../graphql/engine/errors.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { accountPage, type Item, listOf, timeOf } from "../account.js";
import { sessionForm } from "../forms.js";
import { type Html, html } from "../html.js";
import { alarm, notice } from "../layout.js";
import { type PageHandler, perform, signedIn, type StatusPage, type Visit } from "../visit.js";
import { foreign } from "./consent.js";

interface Grant {
  id: string;
  permissions: string[];
  audiences: string[];
  ip: string | null;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  app: { name: string; kind: "ADMIN" | "DYNAMIC" | "DOCUMENT" };
}

interface Listed {
  oauth2Grants: { nodes: Grant[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
}

const path = "/account/applications";

/** The page on which users look at the applications that they gave access, and revoke it. */
export function grantPages(operation: (name: string) => StoredOperation): { show: PageHandler; submit: PageHandler } {
  const list = operation("OwnGrants");
  const revoke = operation("RevokeGrant");

  async function pageOf(visit: Visit, ctx: Context, top?: Html): Promise<StatusPage> {
    const after = visit.query.get("after");
    const { oauth2Grants } = await perform<Listed>(list, ctx.afresh(), { after });
    return accountPage(visit, { title: "Applications", main: html`${top} ${content(visit, oauth2Grants)}` });
  }

  return {
    show: signedIn((visit, ctx) => pageOf(visit, ctx)),

    submit: signedIn(async (visit, ctx) => {
      try {
        const { revokeOAuth2Grant } = await perform<{ revokeOAuth2Grant: { oauth2Grant: Pick<Grant, "app"> } }>(
          revoke,
          ctx,
          { id: visit.form.get("id") ?? "" },
        );
        return await pageOf(visit, ctx, notice(`“${revokeOAuth2Grant.oauth2Grant.app.name}” has no access any more.`));
      } catch (error) {
        if (translate(error).code !== "NOT_FOUND") throw error;
        return { ...(await pageOf(visit, ctx, gone)), status: 404 };
      }
    }),
  };
}

const gone = alarm("This access has ended before.");

function content(visit: Visit, { nodes, pageInfo }: Listed["oauth2Grants"]): Html {
  if (nodes.length === 0) return html`<p>No application has access to your account.</p>`;
  const more = new URLSearchParams({ after: pageInfo.endCursor ?? "" }).toString();
  return html`<p>These applications act in your name, within what you allowed.</p>
    ${listOf(nodes.map((grant) => itemOf(visit, grant)))}
    ${pageInfo.hasNextPage ? html`<a class="button" href="${path}?${more}">More</a>` : undefined}`;
}

function itemOf(visit: Visit, { id, app, permissions, audiences, ip, createdAt, lastUsedAt, expiresAt }: Grant): Item {
  const resources = audiences.length > 0 ? [html`Only for ${audiences.join(", ")}`] : [];
  return {
    title: foreign(app.name),
    badge: app.kind === "ADMIN" ? undefined : html`<span class="badge caution">Registered itself</span>`,
    lines: [
      html`Allowed ${timeOf(createdAt)}${ip === null ? "" : ` from ${ip}`}`,
      html`Last used ${timeOf(lastUsedAt)}, expires ${timeOf(expiresAt)}`,
      ...resources,
      html`<details>
        <summary>What it can do</summary>
        <ul>
          ${permissions.map((each) => html`<li>${each}</li>`)}
        </ul>
      </details>`,
    ],
    actions: sessionForm(
      visit,
      path,
      html`<input type="hidden" name="id" value="${id}" />
        <button class="quiet" aria-label="Revoke ${app.name}">Revoke</button>`,
    ),
  };
}
