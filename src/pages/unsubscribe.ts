import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { html } from "./html.js";
import { notice } from "./layout.js";
import { type PageHandler, perform, type Visit } from "./visit.js";

interface Unsubscription {
  templateName: string;
}

const tokenOf = ({ query }: Visit): string => query.get("token") ?? "";

/**
 * The page on which recipients of mail turn off such mails, without signing in. A POST is enough, as mail programs send
 * it (RFC 8058 §3.2): the token in the URL authenticates it, and a GET changes nothing.
 */
export function unsubscribePages(operation: (name: string) => StoredOperation): {
  show: PageHandler;
  submit: PageHandler;
} {
  return {
    async show(visit) {
      const { notificationUnsubscription } = await perform<{ notificationUnsubscription: Unsubscription }>(
        operation("NotificationUnsubscription"),
        visit.anonymous(),
        { token: tokenOf(visit) },
      );
      return {
        title: "Unsubscribe",
        main: html`<p>
            Do you want to stop receiving mails of the kind <strong>${notificationUnsubscription.templateName}</strong>?
          </p>
          <form method="post"><button>Unsubscribe</button></form>
          <p class="faint">
            Such notifications still reach your inbox in Steward. You can turn the mails on again in your preferences.
          </p>`,
      };
    },

    async submit(visit) {
      const { unsubscribeFromNotification } = await perform<{
        unsubscribeFromNotification: { unsubscription: Unsubscription };
      }>(operation("UnsubscribeFromNotification"), visit.anonymous(), { input: { token: tokenOf(visit) } });
      const { templateName } = unsubscribeFromNotification.unsubscription;
      return {
        title: "Unsubscribed",
        main: html`${notice("You are unsubscribed.")}
          <p>Mails of the kind <strong>${templateName}</strong> are turned off.</p>
          <p class="faint">
            Such notifications still reach your inbox in Steward. You can turn the mails on again in your preferences.
          </p>`,
      };
    },
  };
}
