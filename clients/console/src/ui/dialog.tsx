import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

interface DialogProps {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
}

/** A dialog. Escape closes it, after a question if something is filled in. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isFilled, setFilled] = useState(false);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  /** The browser closes the dialog unless it is prevented; a second request goes back to what is filled in. */
  const askFirst = (event: Event) => {
    if (!isFilled || event.target !== event.currentTarget) return;
    event.preventDefault();
    setAsking((before) => !before);
  };
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={onClose}
      onInput={() => setFilled(true)}
      onCancel={askFirst}
      // Browsers may close it at the second Escape without a word.
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing || !isFilled) return;
        event.preventDefault();
        setAsking((before) => !before);
      }}
    >
      <h2>{title}</h2>
      {children}
      {isAsking && <ThrowAway onKeep={() => setAsking(false)} onLeave={onClose} />}
    </dialog>
  );
}

/** Asks whether what is filled in is thrown away. */
function ThrowAway({ onKeep, onLeave }: { onKeep: () => void; onLeave: () => void }) {
  const question = useId();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    keep.current?.focus();
    return () => before?.focus();
  }, []);
  return (
    <div class="throw-away" role="alertdialog" aria-labelledby={question}>
      <p id={question}>Throw away what you filled in?</p>
      <button ref={keep} type="button" onClick={onKeep}>
        Keep it
      </button>
      <button type="button" class="primary danger" onClick={onLeave}>
        Throw it away
      </button>
    </div>
  );
}

/** A text of one line that people take elsewhere. */
export function Copyable({ label, text, isSecret }: { label: string; text: string; isSecret?: boolean }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="copyable">
      <span class="faint">{label}</span>
      <code class={isSecret ? "secret" : undefined}>{text}</code>
      <button
        type="button"
        aria-label={`Copy ${label}`}
        onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
      >
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

interface RevealedProps {
  title: string;
  secret: string;
  /** What is shown instead of the secret alone, which it contains. */
  children?: ComponentChildren;
  onClose: () => void;
}

/** A secret that is shown once, ready to be copied. */
export function Revealed({ title, secret, children, onClose }: RevealedProps) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Dialog title={title} onClose={onClose}>
      <p>Copy it now: it is not shown again.</p>
      {children ?? <code class="secret">{secret}</code>}
      <footer>
        {!children && (
          <button type="button" onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}>
            {isCopied ? "Copied" : "Copy"}
          </button>
        )}
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}
