// What is done to workspaces from their list and their page.
import { useState } from "preact/hooks";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Form, LoadingPart } from "../ui/form";
import { titleOf } from "../ui/text";
import { ParametersForm } from "./parameters-form";
import { VersionParameters } from "./templates.gql";
import {
  CreateWorkspace,
  RestartWorkspace,
  StartWorkspace,
  type StartWorkspaceInput,
  StopWorkspace,
  TemplateParameters,
  UsableTemplates,
  WorkspaceCost,
} from "./workspaces.gql";

/** The values of another workspace. */
type Parameters = ReadonlyArray<{ name: string; value: string }>;

interface CreateProps {
  onCreated: (id: string) => void;
  /** Default: `Create a workspace`. */
  label?: string;
  /** The ID of its template. By default, it is chosen first. */
  template?: string;
  /** The parameters of a workspace of which this one is a duplicate. */
  like?: Parameters;
}

/** A button that creates a workspace: first its template is chosen, unless it is known, then the parameters of that. */
export function CreateButton({ onCreated, label = "Create a workspace", template: known, like }: CreateProps) {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setTemplate] = useState<string>();
  const template = known ?? chosen;
  const close = () => {
    setOpen(false);
    setTemplate(undefined);
  };
  return (
    <>
      <button type="button" class={like ? "" : "primary"} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={label} onClose={close}>
          {template ? (
            <OfTemplate
              id={template}
              like={like}
              onCancel={close}
              onCreated={(id) => {
                close();
                onCreated(id);
              }}
            />
          ) : (
            <Templates onChosen={setTemplate} onCancel={close} />
          )}
        </Dialog>
      )}
    </>
  );
}

/** The templates that new workspaces can use. */
export function useUsableTemplates() {
  const loaded = useData(UsableTemplates, {});
  const all = loaded.data?.templates.nodes;
  return { loaded, usable: all?.filter((each) => each.activeVersion && !each.deprecationMessage) };
}

function Templates({ onChosen, onCancel }: { onChosen: (id: string) => void; onCancel: () => void }) {
  const { loaded, usable: templates } = useUsableTemplates();
  if (!templates) return <LoadingPart of={loaded} text="Loading templates…" />;
  if (templates.length === 0) return <p>There is no template that you can use. Ask an administrator for one.</p>;
  return (
    <Form
      fields={[{ name: "template", options: templates.map((each) => [each.id, titleOf(each)]), isRequired: true }]}
      submit="Next"
      onSubmit={async ({ template }) => onChosen(template as string)}
      onCancel={onCancel}
    />
  );
}

interface OfTemplateProps {
  id: string;
  like: Parameters | undefined;
  onCreated: (id: string) => void;
  onCancel: () => void;
}

function OfTemplate({ id, like, onCreated, onCancel }: OfTemplateProps) {
  const parameters = useData(TemplateParameters, { id });
  const { data } = parameters;
  if (!data) return <LoadingPart of={parameters} text="Loading the parameters…" />;
  const version = data.template?.activeVersion;
  return (
    <>
      {data.template && (
        <p>
          {like
            ? `It gets the template ${titleOf(data.template)} and these parameters. Files are not copied.`
            : `Template: ${titleOf(data.template)}`}
        </p>
      )}
      {version && <Cost versionId={version.id} />}
      <ParametersForm
        version={version}
        like={like}
        fields={[{ name: "name", isRequired: true }]}
        input={CreateWorkspace.input}
        submit="Create"
        onSubmit={async (chosen, { name }) => {
          const { createWorkspace } = await perform(CreateWorkspace, {
            input: { name: (name as string | undefined) ?? "", templateId: id, ...chosen },
          });
          onCreated(createWorkspace.workspace.id);
        }}
        onCancel={onCancel}
      />
    </>
  );
}

/** What a workspace costs, against the quota of the caller, before it is built. */
export function Cost({ versionId }: { versionId: string }) {
  const { data } = useData(WorkspaceCost, { templateVersionId: versionId });
  const cost = data?.workspaceCost;
  if (!cost?.isEnforced) return null;
  const { needs, budget, creditsConsumed: used, exceeds } = cost;
  const left = Math.max(budget - used, 0);
  if (needs == null) return <p class="note">Its daemon finds out what it costs. You have {left} credits a day left.</p>;
  if (exceeds)
    return (
      <p class="alarm">
        It needs {needs} credits a day, and you have {left} of {budget} left: the build would fail. Stop or delete other
        workspaces, or ask an administrator for a larger quota.
      </p>
    );
  return (
    <p class="note">
      It needs {needs} credits a day. You have {left} of {budget} left.
    </p>
  );
}

interface StartWithProps {
  label: string;
  note: string;
  workspaceId: string;
  versionId: string;
  /** The values of the previous build. */
  previous: ReadonlyArray<{ name: string; value: string }>;
  /** Whether it is stopped first. */
  isRunning: boolean;
}

/** A button that starts or restarts a workspace with a version of its template, after its parameters are chosen. */
export function StartWith({ label, note, workspaceId, versionId, previous, isRunning }: StartWithProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const parameters = useData(VersionParameters, isOpen ? { id: versionId } : undefined);
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={label} onClose={close}>
          <p class="note">
            {isRunning && "It is stopped first. "}
            {note}
          </p>
          {parameters.data ? (
            <ParametersForm
              version={parameters.data.templateVersion}
              previous={previous}
              input={StartWorkspace.input}
              submit={isRunning ? "Restart" : "Start"}
              onSubmit={async (chosen) => {
                await perform<unknown, { input: StartWorkspaceInput }>(isRunning ? RestartWorkspace : StartWorkspace, {
                  input: { workspace: workspaceId, templateVersionId: versionId, ...chosen },
                });
                close();
              }}
              onCancel={close}
            />
          ) : (
            <LoadingPart of={parameters} text="Loading the parameters…" />
          )}
        </Dialog>
      )}
    </>
  );
}

interface TransitionProps {
  workspace: { id: string; name: string; status: string };
  mayStart: boolean;
  mayStop: boolean;
  isInList?: boolean;
}

export const canStart = (status: string): boolean => ["STOPPED", "FAILED", "CANCELED"].includes(status);
export const canStop = (status: string): boolean => status === "RUNNING";

/** The button that starts or stops a workspace, by its state. */
export function Transition({ workspace: { id, name, status }, mayStart, mayStop, isInList }: TransitionProps) {
  const on = isInList ? name : undefined;
  if (canStart(status) && mayStart)
    return <Action label="Start" on={on} run={StartWorkspace} given={{ workspace: id }} />;
  if (canStop(status) && mayStop) return <Action label="Stop" on={on} run={StopWorkspace} given={{ workspace: id }} />;
  return null;
}

/** A button that stops a workspace and starts it again. What could not be started is not stopped. */
export const Restart = ({ workspace: { id } }: Pick<TransitionProps, "workspace">) => (
  <Action
    label="Restart"
    confirm="It is stopped, and then started. What runs in it ends."
    run={RestartWorkspace}
    given={{ workspace: id }}
    said="It is stopped, and starts then."
  />
);
