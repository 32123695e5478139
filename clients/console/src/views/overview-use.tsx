// What an organization uses: its templates with the most workspaces, and what its users spent on AI against their budgets.
import { Empty, Panel, PersonLink, Share } from "../ui/parts";
import { amountOf, countOf, dateOf, titleOf } from "../ui/text";
import type { OverviewOrganizationQuery } from "./overview.gql";

type Templates = NonNullable<OverviewOrganizationQuery["mostUsedTemplates"]>;
type Spending = NonNullable<OverviewOrganizationQuery["organizationAiSpend"]>;

export const MostUsedTemplates = ({ of }: { of: Templates }) => (
  <Panel title="Most used templates" actions={<a href="/templates">Templates</a>}>
    {of.length === 0 && <Empty>No template has a workspace.</Empty>}
    <ul class="links">
      {of.map(({ template, workspaceCount, runningCount }) => (
        <li key={template.id}>
          <span>
            <a href={`/templates/${template.id}`}>
              <bdi>{titleOf(template)}</bdi>
            </a>
            <span class="faint block">{runningCount} running</span>
          </span>
          <a href={`/workspaces?template=${template.id}`}>{countOf(workspaceCount, "workspace")}</a>
        </li>
      ))}
    </ul>
  </Panel>
);

export const AiSpending = ({ of }: { of: Spending }) => (
  <Panel title="AI spending of the organization" actions={<a href="/groups">Budgets</a>}>
    {of.spenderCount === 0 && <Empty>No task has spent anything this month.</Empty>}
    {of.spenderCount > 0 && (
      <p>
        <b>{amountOf(of.spentMicros)}</b> this month by {countOf(of.spenderCount, "user")}
        {of.exhaustedCount > 0 && (
          <>
            , of whom {of.exhaustedCount === 1 ? "one has" : `${of.exhaustedCount} have`} spent the budget: their tasks
            wait until {dateOf(of.periodEnd)}
          </>
        )}
        .
      </p>
    )}
    <ul class="links">
      {of.spenders.map(({ user, spentMicros, limitMicros }) => (
        <li key={user.id}>
          <PersonLink user={user} />
          <Share part={spentMicros} of={limitMicros} show={amountOf} />
        </li>
      ))}
    </ul>
  </Panel>
);
