/**
 * The style of mails. Programs that ignore style sheets show a plain page; those that follow the system's colors get a
 * dark one. Classes instead of selectors of elements where programs wrap or rename elements.
 */
export const style = `
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
