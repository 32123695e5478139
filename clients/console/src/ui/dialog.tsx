import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useLayoutEffect, useId, useRef, useState } from "preact/hooks";
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

/** What had the focus before each dialog that is open, the last one last: of one that follows another, also before that. */
const openers: Array<readonly HTMLElement[]> = [];

/**
 * Opens a dialog, and returns the focus when it goes away: browsers do so only for dialogs that stay in the document. A dialog
 * that follows another one, such as a secret after a form, returns it to what opened the first one.
 */
function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  // With the change of the document: a key that comes next is meant for what has the focus then.
  useLayoutEffect(() => {
    const box = dialog.current!;
    const before = document.activeElement as HTMLElement;
    // A button that waits for the server has lost the focus.
    const own = [...(before === document.body ? [] : [before]), ...(openers.at(-1) ?? [])];
    openers.push(own);
    box.showModal();
    return () => {
      box.close();
      openers.splice(openers.indexOf(own), 1);
      if (!document.querySelector("dialog[open]")) own.find(({ isConnected }) => isConnected)?.focus();
    };
  }, []);
  return dialog;
}

/** A dialog. Escape closes it, after a question if something is lost with it. */
export function Dialog({ title, children, onClose, loss }: DialogProps) {
  const dialog = useModal();
  const [hasInput, setHasInput] = useState(false);
  const isFilled = loss ? loss.isPresent : hasInput;
  const [isAsking, setAsking] = useState(false);
  /** Closes in the same breath: browsers report it a frame later, and a key before that would open it for nothing. */
  const cancel = (event: Event) => {
    if (event.target !== event.currentTarget) return;
    event.preventDefault();
    // A second request goes back to what is filled in.
    if (isFilled) setAsking((before) => !before);
    else onClose();
  };
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      // Not as it goes away.
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
      onInput={() => setHasInput(true)}
      onCancel={cancel}
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
  // Before it is painted: a key that is pressed as soon as it is seen is meant for it.
  useLayoutEffect(() => {
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
  /** Says where it is shown later as well, if it is no secret. */
  remains?: string;
  onClose: () => void;
}

/** A secret that is shown once, ready to be copied. Escape asks, and the page stays when the session ends, unless it was. */
export function Revealed({ title, secret, children, remains, onClose }: RevealedProps) {
  const [isCopied, setCopied] = useState(false);
  const copied = useCallback(() => setCopied(true), []);
  const isLost = !isCopied && remains === undefined;
  useUnsaved(isLost);
  const question = "It is not shown again. Close without a copy?";
  const loss = { isPresent: isLost, question, keep: "Go back", leave: "Close" };
  return (
    <Dialog title={title} onClose={onClose} loss={loss}>
      <p>{remains ?? "Copy it now: it is not shown again."}</p>
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
