// Asks the user for a passkey, a code, or the password where a change takes a recent proof, and goes on with the change.
import { askedProof } from "../api/proof";
import { client } from "../api/client";
import { hasPasskeys, signWithPasskey } from "../api/passkeys";
import { signInPath } from "../api/session";
import { useSignal } from "../api/signal";
import { Dialog } from "./dialog";
import { type FieldSpec, FormDialog } from "./form";
import { attempt } from "./notices";
import {
  BeginPasskeyProof,
  type BeginPasskeyProofMutation,
  ProveIdentity,
  type ProveIdentityMutationVariables,
} from "./prove-again.gql";

const fields: Record<string, FieldSpec> = {
  ONE_TIME_CODE: {
    name: "oneTimeCode",
    label: "Code of your authenticator",
    hint: "Or one of your recovery codes.",
    kind: "text",
    autoComplete: "one-time-code",
    isRequired: true,
  },
  PASSWORD: { name: "password", label: "Password", autoComplete: "current-password", isRequired: true },
};

export function ProveAgain() {
  const asked = useSignal(askedProof);
  if (!asked) return null;
  const { ways, settle } = asked;
  const field = ways.map((way) => fields[way]).find(Boolean);
  const prove = async (input: ProveIdentityMutationVariables["input"]) => {
    const { error } = await client.mutation(ProveIdentity.text, { input }).toPromise();
    if (error) throw error;
    settle(true);
  };
  const proveByPasskey = async () => {
    const { data, error } = await client.mutation<BeginPasskeyProofMutation>(BeginPasskeyProof.text, {}).toPromise();
    if (error) throw error;
    await prove({ passkey: await signWithPasskey(data!.beginPasskeyProof.options) });
  };
  if (!field)
    return (
      <Dialog title="Prove again who you are" onClose={() => settle(false)}>
        <p>This takes a recent sign-in. Sign in again in a new tab, then come back to this one and repeat it.</p>
        <footer>
          <a class="button primary" href={signInPath()} target="_blank" rel="noopener" onClick={() => settle(false)}>
            Sign in
          </a>
        </footer>
      </Dialog>
    );
  return (
    <FormDialog
      title="Prove again who you are"
      note="This gives lasting or wider access, for which your last proof is too old."
      fields={[field]}
      input={ProveIdentity.input}
      submit="Go on"
      onSubmit={prove}
      onClose={() => settle(false)}
    >
      {ways.includes("PASSKEY") && hasPasskeys() && (
        <p>
          <button type="button" class="primary" onClick={() => void attempt(proveByPasskey)}>
            Use a passkey
          </button>
        </p>
      )}
    </FormDialog>
  );
}
