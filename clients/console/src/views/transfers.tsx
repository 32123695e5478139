import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { say } from "../ui/notices";
import { Panel, PersonLink, Time } from "../ui/parts";
import {
  AcceptWorkspaceTransfer,
  DeclineWorkspaceTransfer,
  OfferedWorkspaces,
  TransferWorkspaces,
} from "./workspaces.gql";

/** Tells a new owner about the content of a workspace. */
export const filesStay =
  "Files and programs of the former owner stay inside, and run with your rights when you start it. Its shares and its schedule end, and it gets no secrets until you give it them.";

/** Gives a stopped workspace of another user to the caller, or offers it to a user. */
export const TransferButton = ({ id, onDone }: { id: string; onDone: () => void }) => (
  <Action
    label="Transfer"
    note={`It gets another owner, who accepts it first unless that is you. ${filesStay}`}
    run={TransferWorkspaces}
    given={{ workspaces: [id] }}
    fields={[{ name: "receiver", label: "New owner", hint: "A username. Without one, it becomes yours." }]}
    submit="Transfer"
    done={({ transferWorkspaces: { isOffered } }) => {
      say(isOffered ? "It is offered for a week." : "It is yours.");
      onDone();
    }}
  />
);

/** The workspaces that administrators offer to the caller, if there are any. */
export function Offers({ onAccepted }: { onAccepted: () => void }) {
  const offers = useData(OfferedWorkspaces, {});
  const rows = offers.data?.workspaceTransfers ?? [];
  if (rows.length === 0) return null;
  return (
    <Panel title="Offered to you">
      <List
        name="Offered workspaces"
        rows={rows}
        empty="No workspace is offered."
        columns={[
          { title: "Workspace", show: ({ workspaceName }) => <b>{workspaceName}</b> },
          { title: "Former owner", show: ({ formerOwner }) => <PersonLink user={formerOwner} /> },
          { title: "Offered by", show: ({ offeredBy }) => <PersonLink user={offeredBy} /> },
          { title: "Until", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ id, workspaceName }) => (
              <>
                <Action
                  label="Accept"
                  on={workspaceName}
                  confirm={`It counts against your quota. ${filesStay}`}
                  run={AcceptWorkspaceTransfer}
                  given={{ id }}
                  said="It is yours."
                  done={() => {
                    offers.refresh();
                    onAccepted();
                  }}
                />
                <Action
                  label="Decline"
                  on={workspaceName}
                  run={DeclineWorkspaceTransfer}
                  given={{ id }}
                  said="Declined."
                  done={offers.refresh}
                />
              </>
            ),
          },
        ]}
      />
    </Panel>
  );
}
