import { escaped, htmlOf, plainText } from "./markdown.js";
import type { InboxAction } from "./inbox.js";
import type { Payload } from "./notify.js";

/** The content of a mail, as equivalent plain text and HTML. */
export interface MailContent {
  subject: string;
  text: string;
  html: string;
}

/** Who receives a mail. */
interface Addressee {
  name: string;
  username: string;
}

/** Composes the mail of a message. It has no images and loads nothing. */
export function mailOf(
  { title, body, actions }: Payload,
  { name, username }: Addressee,
  accessUrl: string,
): MailContent {
  const greeting = `Hello ${name || username},`;
  const links = actions.map(({ label, url }) => `${label}: ${url}`);
  const subject = plainText(title);
  return {
    subject,
    text: [greeting, plainText(body), ...links, `-- \nSteward · ${accessUrl}`].join("\n\n") + "\n",
    html: documentOf(subject, [
      `<p>${escaped(greeting)}</p>`,
      htmlOf(body),
      ...actions.map(button),
      `<p class="faint">This message was sent by <a href="${escaped(accessUrl)}">Steward</a>. What you receive is up to you: see your notification preferences.</p>`,
    ]),
  };
}

const button = ({ label, url }: InboxAction): string =>
  `<p><a class="button" href="${escaped(url)}">${escaped(label)}</a></p>`;

/** Programs that ignore style sheets show a plain page; those that follow the system's colors get a dark one. */
const style = `
  :root { color-scheme: light dark; }
  body { margin: 0; padding: 24px; background: #f4f5f7; color: #1c2430; font: 16px/1.5 system-ui, sans-serif; }
  main { max-width: 560px; margin: 0 auto; padding: 24px; background: #ffffff; border-radius: 8px; overflow-wrap: anywhere; }
  h1 { margin: 0 0 16px; font-size: 20px; line-height: 1.3; }
  code { font: 14px/1.5 ui-monospace, monospace; }
  blockquote { margin: 0; padding-left: 16px; border-left: 3px solid #c9d1dc; }
  a { color: #1d5fbf; }
  a.button { display: inline-block; padding: 10px 16px; background: #1d5fbf; color: #ffffff; border-radius: 6px; text-decoration: none; }
  .faint { margin-top: 32px; color: #5b6675; font-size: 13px; }
  @media (prefers-color-scheme: dark) {
    body { background: #12161c; color: #e6eaf0; }
    main { background: #1b212a; }
    a { color: #7db0f5; }
    a.button { background: #7db0f5; color: #12161c; }
    .faint { color: #9aa5b4; }
  }`;

const documentOf = (title: string, parts: readonly string[]): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escaped(title)}</title>
    <style>${style}
    </style>
  </head>
  <body>
    <main>
      <h1>${escaped(title)}</h1>
      ${parts.join("\n      ")}
    </main>
  </body>
</html>
`;
