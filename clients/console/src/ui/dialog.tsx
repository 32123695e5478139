import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { useUnsaved } from "../api/session";

interface DialogProps {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
  /** What would be lost with it, as a question and the two ways on; by default, what is filled in. */
  loss?: Loss;
}

interface Loss {
  isPresent: boolean;
  question: string;
  keep: string;
  leave: string;
}

/** A dialog. Escape closes it, after a question if something is lost with it. */
export function Dialog({ title, children, onClose, loss }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [hasInput, setHasInput] = useState(false);
  const isFilled = loss ? loss.isPresent : hasInput;
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
      onInput={() => setHasInput(true)}
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
      {isAsking && <ThrowAway {...(loss ?? ofForms)} onKeep={() => setAsking(false)} onLeave={onClose} />}
    </dialog>
  );
}

const ofForms = { question: "Throw away what you filled in?", keep: "Keep it", leave: "Throw it away" };

interface ThrowAwayProps extends Omit<Loss, "isPresent"> {
  onKeep: () => void;
  onLeave: () => void;
}

/** Asks whether what is in a dialog is thrown away. */
function ThrowAway({ question: text, keep: stay, leave, onKeep, onLeave }: ThrowAwayProps) {
  const question = useId();
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    keep.current?.focus();
    return () => before?.focus();
  }, []);
  return (
    <div class="throw-away" role="alertdialog" aria-labelledby={question}>
      <p id={question}>{text}</p>
      <button ref={keep} type="button" onClick={onKeep}>
        {stay}
      </button>
      <button type="button" class="primary danger" onClick={onLeave}>
        {leave}
      </button>
    </div>
  );
}

/** Called when a secret that is shown once was copied. */
const SecretCopied = createContext(() => {});

/** A text of one line that people take elsewhere. */
export function Copyable({ label, text, isSecret }: { label: string; text: string; isSecret?: boolean }) {
  const [isCopied, setCopied] = useState(false);
  const secretCopied = useContext(SecretCopied);
  const copied = () => {
    setCopied(true);
    if (isSecret) secretCopied();
  };
  return (
    <div class="copyable">
      <span class="faint">{label}</span>
      <code class={isSecret ? "secret" : undefined}>{text}</code>
      <button
        type="button"
        aria-label={`Copy ${label}`}
        onClick={() => void navigator.clipboard.writeText(text).then(copied)}
      >
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

interface RevealedProps {
  title: string;
  secret: string;
  /** Shown instead of the secret alone, which it contains. */
  children?: ComponentChildren;
  onClose: () => void;
}

/** A secret that is shown once, ready to be copied. Escape asks, and the page stays when the session ends, unless it was. */
export function Revealed({ title, secret, children, onClose }: RevealedProps) {
  const [isCopied, setCopied] = useState(false);
  const copied = useCallback(() => setCopied(true), []);
  useUnsaved(!isCopied);
  const question = "It is not shown again. Close without a copy?";
  const loss = { isPresent: !isCopied, question, keep: "Go back", leave: "Close" };
  return (
    <Dialog title={title} onClose={onClose} loss={loss}>
      <p>Copy it now: it is not shown again.</p>
      <SecretCopied.Provider value={copied}>
        <div onCopy={copied}>{children ?? <code class="secret">{secret}</code>}</div>
      </SecretCopied.Provider>
      <footer>
        {!children && (
          <button type="button" onClick={() => void navigator.clipboard.writeText(secret).then(copied)}>
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
