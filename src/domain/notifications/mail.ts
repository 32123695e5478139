import type { NotificationPayload } from "../../entities/notifications.js";
import { escapeHtml, htmlOf, plainText } from "./markdown.js";
import type { InboxAction } from "./inbox.js";
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
export function mailOf({ title, body, actions }: NotificationPayload, occasion: Occasion): MailContent {
  const { recipient, accessUrl, unsubscribeUrl } = occasion;
  const greeting = `Hello ${recipient.name || recipient.username},`;
  const links = actions.map(({ label, url }) => `${label}: ${url}`);
  const subject = plainText(title);
  const plain = plainText(body);
  const lastLines = ["-- ", `Steward · ${accessUrl}`, reason(occasion)];
  if (unsubscribeUrl) lastLines.push(`Unsubscribe: ${unsubscribeUrl}`);
  return {
    subject,
    text: [greeting, plain, ...links, lastLines.join("\n")].filter(Boolean).join("\n\n") + "\n",
    html: documentOf(
      subject,
      plain.split("\n", 1)[0]!,
      [
        `<p class="kind">${escapeHtml(occasion.template.group)}</p>`,
        `<h1>${escapeHtml(subject)}</h1>`,
        `<p>${escapeHtml(greeting)}</p>`,
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
  `<a class="button" href="${escapeHtml(url)}">${escapeHtml(label)}</a>`;

function footer(occasion: Occasion): string[] {
  const { template, accessUrl, unsubscribeUrl } = occasion;
  const home = `<a href="${escapeHtml(accessUrl)}">Steward</a>`;
  const choice = unsubscribeUrl
    ? `<a href="${escapeHtml(unsubscribeUrl)}">Unsubscribe</a> from mails of the kind “${escapeHtml(template.name)}”.`
    : "Mails of this kind cannot be turned off.";
  return [`<p>${home} · ${escapeHtml(reason(occasion))}</p>`, `<p>${choice}</p>`];
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
    <title>${escapeHtml(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <div style="display:none;max-height:0;overflow:hidden">${escapeHtml(preview)}</div>
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

/**
 * The style of mails. Programs that ignore style sheets show a plain page; those that follow the system's colors get a
 * dark one. Where programs wrap or rename elements, rules select classes instead of element names.
 */
const style = `
      :root { color-scheme: light dark; supported-color-schemes: light dark; }
      body { margin: 0; padding: 0; background: #f3f4f7; color: #1c2430;
        font: 16px/1.55 -apple-system, "Segoe UI", system-ui, Roboto, Helvetica, Arial, sans-serif;
        -webkit-text-size-adjust: 100%; text-size-adjust: 100%; overflow-wrap: anywhere; }
      .page { max-width: 600px; margin: 0 auto; padding: 32px 16px; }
      .brand { margin: 0 0 12px 4px; font-size: 15px; font-weight: 700; letter-spacing: 0.01em; color: #1d5fbf; }
      .card { padding: 32px; background: #ffffff; border: 1px solid #e1e5eb; border-radius: 12px; }
      .kind { margin: 0 0 4px; font-size: 13px; color: #5b6675; }
      h1 { margin: 0 0 20px; font-size: 22px; line-height: 1.3; }
      .card h2, .card h3, .card h4 { margin: 24px 0 8px; font-size: 17px; line-height: 1.35; }
      .card p { margin: 0 0 14px; }
      .card > :last-child, blockquote > :last-child { margin-bottom: 0 !important; }
      .card p.kind { margin-bottom: 4px; }
      ul, ol { margin: 0 0 14px; padding-left: 24px; }
      li { margin: 4px 0; }
      code { padding: 2px 5px; background: #eef1f5; border-radius: 4px;
        font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
      pre { margin: 0 0 14px; padding: 14px 16px; background: #eef1f5; border-radius: 8px; white-space: pre-wrap; }
      pre code { padding: 0; background: none; }
      pre code.language-passcode { display: block; text-align: center; font-size: 26px; font-weight: 700;
        letter-spacing: 0.14em; }
      blockquote { margin: 0 0 14px; padding: 2px 0 2px 16px; border-left: 3px solid #c9d1dc; color: #46505e; }
      hr { margin: 20px 0; border: 0; border-top: 1px solid #e1e5eb; }
      a { color: #1d5fbf; }
      .card p.actions { margin: 24px 0 0; }
      .button { display: inline-block; margin: 0 8px 0 0; padding: 11px 20px; background: #1d5fbf; color: #ffffff;
        border-radius: 8px; font-weight: 600; text-decoration: none; }
      .footer { padding: 20px 4px 0; font-size: 13px; line-height: 1.5; color: #5b6675; }
      .footer p { margin: 0 0 6px; }
      .footer a { color: #46505e; }
      @media (max-width: 480px) {
        .page { padding: 16px 8px; }
        .card { padding: 22px 18px; }
        .button { display: block; margin: 8px 0 0; text-align: center; }
        pre code.language-passcode { font-size: 22px; letter-spacing: 0.08em; }
      }
      @media (prefers-color-scheme: dark) {
        body { background: #12161c; color: #e6eaf0; }
        .card { background: #1b212a; border-color: #2b3441; }
        .brand, a { color: #7db0f5; }
        .kind, .footer { color: #9aa5b4; }
        .footer a { color: #b9c3d0; }
        code, pre { background: #262e39; }
        blockquote { border-left-color: #46505e; color: #b9c3d0; }
        hr { border-top-color: #2b3441; }
        .button { background: #7db0f5; color: #12161c; }
      }
    `.replace(/\s+/g, " ");
