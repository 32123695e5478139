// The first steps of a new deployment, as its overview lists them until all are done or dismissed.
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Panel } from "../ui/parts";
import { DismissFirstSteps, FirstSteps as FirstStepsQuery, type FirstStepName } from "./first-steps.gql";

interface Step {
  title: string;
  why: string;
  action: readonly [label: string, path: string];
}

const steps: Record<FirstStepName, Step> = {
  DAEMON: {
    title: "Connect a provisioner daemon",
    why: "It builds the workspaces. The one that is built in only tries templates out.",
    action: ["Create a key for it", "/provisioners"],
  },
  TEMPLATE: {
    title: "Create a template",
    why: "It describes the workspaces that people create.",
    action: ["Create a template", "/templates"],
  },
  SIGN_IN: {
    title: "Set up mail, or an identity provider",
    why: "For invitations and forgotten passwords, or to sign in with accounts that people have.",
    action: ["Set up mail", "/notification-settings"],
  },
  INVITATION: {
    title: "Invite the first person",
    why: "By mail, or with a link that you hand over.",
    action: ["Invite a person", "/invitations"],
  },
};

/** Lists the steps, with those that remain first to do; nothing once all are done or dismissed. */
export function FirstSteps({ mayDismiss }: { mayDismiss: boolean }) {
  const { data } = useData(FirstStepsQuery, {});
  const found = data?.firstSteps;
  if (!found || found.isDismissed || found.steps.every(({ isDone }) => isDone)) return null;
  const done = found.steps.filter(({ isDone }) => isDone).length;
  return (
    <Panel
      title="First steps"
      actions={
        <>
          <span class="faint">
            {done} of {found.steps.length} done
          </span>
          {mayDismiss && (
            <Action
              label="Dismiss"
              on="first steps"
              look="plain"
              confirm="They disappear for all administrators."
              run={DismissFirstSteps}
              given={{}}
            />
          )}
        </>
      }
    >
      <ol class="steps">
        {found.steps.map(({ name, isDone }) => {
          const { title, why, action } = steps[name];
          return (
            <li key={name} class={isDone ? "done" : ""}>
              <span>
                <b>{title}</b>
                {isDone ? <span class="hidden"> (done)</span> : <span class="faint block">{why}</span>}
              </span>
              {!isDone && (
                <a class="button" href={action[1]}>
                  {action[0]}
                </a>
              )}
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}
