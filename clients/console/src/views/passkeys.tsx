// The passkeys of the user, which sign in, and prove who the user is.
import { useState } from "preact/hooks";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { createPasskey, hasPasskeys } from "../api/passkeys";
import { Action } from "../ui/action";
import { Revealed } from "../ui/dialog";
import { type FieldSpec, FormDialog } from "../ui/form";
import { List } from "../ui/list";
import { say } from "../ui/notices";
import { Panel, Time } from "../ui/parts";
import { BeginPasskey, ConfirmPasskey, OwnPasskeys, RemovePasskey, UpdatePasskey } from "./passkeys.gql";

const password: FieldSpec = {
  name: "password",
  label: "Password",
  autoComplete: "current-password",
  isRequired: true,
};

const nameField: FieldSpec = {
  name: "name",
  label: "Name",
  hint: "Such as the device that keeps it.",
  isRequired: true,
};

/** Adds a passkey, which the browser makes. The first factor takes the password, and shows the recovery codes. */
function AddPasskey({ isFirst }: { isFirst: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const [codes, setCodes] = useState<readonly string[]>();
  async function add({ name, ...given }: Record<string, unknown>) {
    const { beginPasskey } = await perform(BeginPasskey, { input: given });
    const passkey = await createPasskey(beginPasskey.options);
    const { confirmPasskey } = await perform(ConfirmPasskey, { input: { passkey, name: name as string } });
    say("The passkey is added.");
    setCodes(confirmPasskey.recoveryCodes ?? undefined);
  }
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Add a passkey
      </button>
      {isOpen && (
        <FormDialog
          title="Add a passkey"
          note="Your browser or phone makes the passkey, and keeps it. It signs in to your account in place of the password, or after it."
          fields={isFirst ? [password, nameField] : [nameField]}
          input={ConfirmPasskey.input}
          submit="Create"
          onSubmit={add}
          onClose={() => setOpen(false)}
        />
      )}
      {codes && (
        <Revealed title="Recovery codes" secret={codes.join(" ")} onClose={() => setCodes(undefined)}>
          <p>Keep these codes where you find them without your passkey. Each signs in once in its place.</p>
          <code class="secret">{codes.join(" ")}</code>
        </Revealed>
      )}
    </>
  );
}

export function Passkeys() {
  const own = useData(OwnPasskeys, {});
  const factors = own.data?.secondFactors;
  if (!hasPasskeys() || !factors || !own.data?.serverInfo.takesPasskeys) return null;
  const isFirst = factors.passkeys.length === 0 && factors.authenticatorConfirmedAt === null;
  return (
    <Panel
      title="Passkeys"
      actions={
        <>
          <AddPasskey isFirst={isFirst} />
          <a class="button" href="/account/second-factor">
            Other factors
          </a>
        </>
      }
    >
      <List
        name="Passkeys"
        rows={factors.passkeys}
        empty="No passkey yet. With one, you sign in without a password."
        columns={[
          { title: "Name", show: ({ name }) => <b>{name}</b> },
          { title: "Kept", show: ({ isBackedUp }) => (isBackedUp ? "Backed up" : "On one device") },
          { title: "Added", show: ({ createdAt }) => <Time at={createdAt} /> },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (passkey) => (
              <>
                <Action
                  label="Rename"
                  on={passkey.name}
                  run={UpdatePasskey}
                  given={{ id: passkey.id }}
                  fields={["name"]}
                  values={passkey}
                  prepare={({ name = passkey.name }) => ({ name: name as string })}
                  submit="Save"
                />
                <Action
                  label="Remove"
                  on={passkey.name}
                  look="danger"
                  confirm="It does not sign in any more. Without another factor, your recovery codes end, too."
                  run={RemovePasskey}
                  given={{ id: passkey.id }}
                  said="The passkey is removed."
                />
              </>
            ),
          },
        ]}
      />
    </Panel>
  );
}
