import { escaped, htmlOf, plainText } from "./markdown.js";
import type { InboxAction } from "./inbox.js";
import { style } from "./mail-style.js";
import type { Payload } from "./notify.js";
import type { NotificationTemplate } from "./templates/template.js";

/** The content of a mail, as equivalent plain text and HTML. */
export interface MailContent {
  subject: string;
  text: string;
  html: string;
  unsubscribeUrl?: string;
}

/** To whom a mail goes, and what it is. */
interface Occasion {
  recipient: { name: string; username: string };
  template: Pick<NotificationTemplate, "name" | "kind" | "recipients" | "group">;
  accessUrl: string;
  /** Where the recipient turns off such mails; absent where that is impossible. */
  unsubscribeUrl: string | undefined;
}

/** Composes the mail of a message. It has no images and loads nothing. */
export function mailOf({ title, body, actions }: Payload, occasion: Occasion): MailContent {
  const { recipient, accessUrl, unsubscribeUrl } = occasion;
  const greeting = `Hello ${recipient.name || recipient.username},`;
  const links = actions.map(({ label, url }) => `${label}: ${url}`);
  const subject = plainText(title);
  const plain = plainText(body);
  const farewell = ["-- ", `Steward · ${accessUrl}`, reason(occasion)];
  if (unsubscribeUrl) farewell.push(`Unsubscribe: ${unsubscribeUrl}`);
  return {
    subject,
    text: [greeting, plain, ...links, farewell.join("\n")].filter(Boolean).join("\n\n") + "\n",
    html: documentOf(
      subject,
      plain.split("\n", 1)[0]!,
      [
        `<p class="kind">${escaped(occasion.template.group)}</p>`,
        `<h1>${escaped(subject)}</h1>`,
        `<p>${escaped(greeting)}</p>`,
        htmlOf(body).trim(),
        ...(actions.length > 0 ? [`<p class="actions">${actions.map(button).join(" ")}</p>`] : []),
      ],
      footer(occasion),
    ),
    ...(unsubscribeUrl && { unsubscribeUrl }),
  };
}

/** Why the recipient gets the mail. */
const reason = ({ template }: Occasion): string =>
  template.kind === "custom"
    ? "You, or a program that uses your account, wrote this message and sent it to you."
    : `Sent to: ${template.recipients}`;

const button = ({ label, url }: InboxAction): string =>
  `<a class="button" href="${escaped(url)}">${escaped(label)}</a>`;

function footer(occasion: Occasion): string[] {
  const { template, accessUrl, unsubscribeUrl } = occasion;
  const home = `<a href="${escaped(accessUrl)}">Steward</a>`;
  const choice = unsubscribeUrl
    ? `<a href="${escaped(unsubscribeUrl)}">Unsubscribe</a> from mails of the kind “${escaped(template.name)}”.`
    : "Mails of this kind cannot be turned off.";
  return [`<p>${home} · ${escaped(reason(occasion))}</p>`, `<p>${choice}</p>`];
}

/** `preview` is what mail programs show beside the subject. */
const documentOf = (
  title: string,
  preview: string,
  content: readonly string[],
  ending: readonly string[],
): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="supported-color-schemes" content="light dark">
    <title>${escaped(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <div style="display:none;max-height:0;overflow:hidden">${escaped(preview)}</div>
    <div class="page">
      <p class="brand">Steward</p>
      <div class="card" role="main">
        ${content.join("\n        ")}
      </div>
      <div class="footer">
        ${ending.join("\n        ")}
      </div>
    </div>
  </body>
</html>
`;
