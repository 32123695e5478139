// The dialog that invites the people in a file.
import { useState } from "preact/hooks";
import { perform } from "../api/client";
import { inSentences } from "../api/errors";
import { Dialog } from "../ui/dialog";
import { say } from "../ui/notices";
import { countOf } from "../ui/text";
import { cellOf, download } from "./export";
import { ImportInvitations } from "./invitations.gql";

interface Row {
  line: number;
  email: string;
  name: string;
  link: string | null;
  faults: ReadonlyArray<{ column: string; detail: string }>;
}

const example =
  "email,name,organizations,groups,roles\nada@example.com,Ada Lovelace,main,main/developers,main/organization-auditor\n";

/** Rows with faults that are shown. */
const mostShown = 100;

export function ImportPeople() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Import
      </button>
      {isOpen && <ImportDialog onClose={() => setOpen(false)} />}
    </>
  );
}

/** What is known of a file: its rows, and whether its people are invited. */
interface Checked {
  csv: string;
  rows: readonly Row[];
  isDone: boolean;
}

function ImportDialog({ onClose }: { onClose: () => void }) {
  const [checked, setChecked] = useState<Checked>();
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  async function send(csv: string, isPreview: boolean): Promise<void> {
    setBusy(true);
    setFault(undefined);
    try {
      const { importInvitations } = await perform(ImportInvitations, { input: { csv, isPreview } });
      setChecked({ csv, rows: importInvitations.rows, isDone: !isPreview });
      if (!isPreview) say(`${countOf(importInvitations.invitedCount, "person", "people")} invited.`);
    } catch (error) {
      setChecked(undefined);
      setFault(inSentences(error));
    } finally {
      setBusy(false);
    }
  }

  const faulty = checked?.rows.filter(({ faults }) => faults.length > 0).length ?? 0;
  return (
    <Dialog title="Import people" onClose={onClose}>
      <p class="note">A file of comma-separated values, with at most 1,000 people. All of them are invited, or none.</p>
      {fault && (
        <p class="alarm" role="alert">
          {fault}
        </p>
      )}
      {!checked?.isDone && (
        <div class="field">
          <label>
            File
            <input
              type="file"
              accept=".csv,text/csv"
              disabled={isBusy}
              onChange={({ currentTarget }) => {
                const file = currentTarget.files?.[0];
                // The same file can be chosen again once it is mended.
                currentTarget.value = "";
                if (file) void file.text().then((text) => send(text, true));
              }}
            />
          </label>
        </div>
      )}
      {checked && <Preview checked={checked} faulty={faulty} />}
      <footer>
        {!checked && (
          <button type="button" onClick={() => download("people.csv", example)}>
            Get an example
          </button>
        )}
        <button type="button" onClick={onClose}>
          {checked?.isDone ? "Done" : "Cancel"}
        </button>
        {checked?.isDone && checked.rows.some(({ link }) => link !== null) && (
          <button type="button" class="primary" onClick={() => download("invitations.csv", linksOf(checked.rows))}>
            Save the links
          </button>
        )}
        {checked && !checked.isDone && (
          <button
            type="button"
            class="primary"
            disabled={isBusy || faulty > 0}
            onClick={() => void send(checked.csv, false)}
          >
            Invite {countOf(checked.rows.length, "person", "people")}
          </button>
        )}
      </footer>
    </Dialog>
  );
}

const linksOf = (rows: readonly Row[]): string =>
  ["email,name,link", ...rows.map(({ email, name, link }) => [email, name, link].map(cellOf).join(","))].join("\n") +
  "\n";

/** The rows with faults, and how many there are of both kinds. */
function Preview({ checked: { rows, isDone }, faulty }: { checked: Checked; faulty: number }) {
  const all = countOf(rows.length, "person", "people");
  if (isDone)
    return (
      <output class="block">
        {all} invited.{" "}
        {rows.some(({ link }) => link) ? "Save the links now: they are not shown again." : "The links are mailed."}
      </output>
    );
  return (
    <>
      <output class="block">
        {faulty > 0
          ? `${countOf(faulty, "row")} of ${rows.length} must be mended. Then choose the file again.`
          : `${all} can be invited.`}
      </output>
      <ul class="links" aria-label="Rows with faults">
        {rows
          .filter(({ faults }) => faults.length > 0)
          .slice(0, mostShown)
          .map(({ line, email, faults }) => (
            <li key={line}>
              <span>
                Line {line}: <b>{email || "no email"}</b>
                {faults.map(({ column, detail }) => (
                  <span key={column + detail} class="fault block">
                    {column && `${column}: `}
                    {detail}
                  </span>
                ))}
              </span>
            </li>
          ))}
      </ul>
      {faulty > mostShown && <p class="faint">The first {mostShown} of them are shown.</p>}
    </>
  );
}
