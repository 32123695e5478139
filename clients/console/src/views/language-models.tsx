import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { List } from "../ui/list";
import { Facts, Heading, Loading, Panel, Status, Time } from "../ui/parts";
import { countOf } from "../ui/text";
import { LanguageModels, McpPrograms, type McpToolEffect, UpdateMcpSettings } from "./language-models.gql";

const effects: Record<McpToolEffect, string> = { READS: "Reads", CHANGES: "Changes", DELETES: "Deletes" };

/** The programs that users gave access to the MCP server. */
function Programs() {
  const programs = useData(McpPrograms, {});
  return (
    <Panel title="Connected programs">
      <List
        name="Connected programs"
        rows={programs.data?.mcpPrograms}
        from={programs}
        empty="No program has access."
        columns={[
          { title: "Name", show: ({ id, name }) => <a href={`/applications/${id}`}>{name}</a> },
          { title: "Users", show: ({ userCount }) => countOf(userCount, "user") },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        ]}
      />
    </Panel>
  );
}

export function LanguageModelsView() {
  const may = useAllowed({ update: { may: "deployment_config:update" } });
  const { data, error, refresh } = useData(LanguageModels, {});
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { enabled, url, tools } = data.mcpServer;
  const forbidden = tools.filter(({ isAllowed }) => !isAllowed).map(({ name }) => name);
  const before = { enabled, forbiddenTools: forbidden };
  const undo = () => perform(UpdateMcpSettings, { input: before });
  const other = (name: string) =>
    forbidden.includes(name) ? forbidden.filter((each) => each !== name) : [...forbidden, name];
  return (
    <>
      <Heading title="Language models" note="Programs with language models use Steward by its MCP server.">
        {may("update") && (
          <Action
            label={enabled ? "Switch off" : "Switch on"}
            run={UpdateMcpSettings}
            given={{ ...before, enabled: !enabled }}
            said={enabled ? "The MCP server is off." : "The MCP server is on."}
            undo={undo}
          />
        )}
      </Heading>
      {!enabled && <p class="banner">The MCP server is off: no program can use it.</p>}
      <Panel title="MCP server">
        <Facts
          facts={[
            ["URL", <code key="url">{url}</code>],
            ["State", <Status key="state" name={enabled ? "OK" : "STOPPED"} label={enabled ? "On" : "Off"} />],
          ]}
        />
      </Panel>
      <Programs />
      <List
        name="Tools"
        rows={tools.map((tool) => ({ ...tool, id: tool.name }))}
        from={{ error, refresh }}
        empty="There are no tools."
        columns={[
          {
            title: "Tool",
            show: ({ title, description }) => (
              <>
                {title} <span class="faint block">{description}</span>
              </>
            ),
          },
          { title: "Effect", show: ({ effect }) => effects[effect] },
          {
            title: "State",
            show: ({ isAllowed }) => (
              <Status name={isAllowed ? "OK" : "STOPPED"} label={isAllowed ? "Allowed" : "Forbidden"} />
            ),
          },
          {
            title: "",
            show: ({ name, title, isAllowed }) =>
              may("update") && (
                <Action
                  label={isAllowed ? "Forbid" : "Allow"}
                  on={title}
                  look="plain"
                  run={UpdateMcpSettings}
                  given={{ enabled, forbiddenTools: other(name) }}
                  said={isAllowed ? `No program may use “${title}” now.` : `Programs may use “${title}” again.`}
                  undo={undo}
                />
              ),
          },
        ]}
      />
    </>
  );
}
