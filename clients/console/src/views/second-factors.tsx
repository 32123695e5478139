// The rules about second factors: of the deployment on a page of their own, of an organization on its page.
import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import type { FieldSpec } from "../ui/form";
import { List } from "../ui/list";
import { Facts, Heading, Panel, Time } from "../ui/parts";
import { countOf, wordsOf } from "../ui/text";
import {
  OrganizationSecondFactorRule,
  SecondFactorRules,
  type SecondFactorRulesQuery,
  SetOrganizationSecondFactorRule,
  SetSecondFactorRule,
} from "./second-factors.gql";

type Rule = Omit<SecondFactorRulesQuery["secondFactorRules"][number], "role">;

const levels: Record<string, string> = {
  OFF: "No rule",
  OPTIONAL: "People may have one",
  REQUIRED: "People must have one",
};

const fields: FieldSpec[] = [
  {
    name: "level",
    label: "Second factor",
    options: Object.entries(levels),
    isRequired: true,
  },
  {
    name: "daysToEnrol",
    label: "Days to add one",
    hint: "From now, or from when they get the role or join. After that, they can do nothing else first.",
    isShown: ({ level }) => level === "REQUIRED",
  },
];

/** Says how many people a change of a rule would concern. */
const concerned = ({ peopleCount, withoutFactorCount }: Rule["reach"]): string => {
  const most = peopleCount >= 10_000 ? "At least " : "";
  return `${most}${countOf(peopleCount, "person", "people")} with a password, of whom ${withoutFactorCount.toLocaleString()} have no second factor. Those who sign in through a provider, service accounts, and API tokens are not concerned.`;
};

/** The form has what is there; what is not changed stays. */
const preparing =
  ({ level, daysToEnrol }: Rule) =>
  (filled: Record<string, unknown>) => {
    const chosen = (filled.level ?? level) as Rule["level"];
    const days = (filled.daysToEnrol ?? daysToEnrol) as number;
    return { level: chosen, ...(chosen === "REQUIRED" && { daysToEnrol: days }) };
  };

const textOf = ({ level, daysToEnrol }: Rule): string =>
  level === "REQUIRED" ? `Required, within ${countOf(daysToEnrol, "day")}` : levels[level]!;

export function SecondFactorsView() {
  const rules = useData(SecondFactorRules, {});
  const may = useAllowed({ update: { may: "deployment_config:update" } });
  return (
    <>
      <Heading
        title="Second factors"
        note="Who must add an authenticator to the password. The strictest rule for a person counts; organizations may have rules of their own."
      />
      <List
        name="Rules"
        rows={rules.data?.secondFactorRules.map((rule) => ({ ...rule, id: rule.role ?? "" }))}
        from={rules}
        empty="No rule."
        columns={[
          { title: "For", show: ({ role }) => (role === "MEMBER" ? "All people" : wordsOf(role ?? "")) },
          { title: "Rule", show: textOf },
          { title: "Since", show: ({ since }) => <Time at={since} none="–" /> },
          { title: "People", isNumber: true, show: ({ reach }) => reach.peopleCount },
          { title: "Without one", isNumber: true, show: ({ reach }) => reach.withoutFactorCount },
          {
            title: "Actions",
            isAction: true,
            show: ({ role, ...rule }) =>
              may("update") && (
                <Action
                  label="Change"
                  on={role === "MEMBER" ? "All people" : wordsOf(role ?? "")}
                  run={SetSecondFactorRule}
                  given={{ role: role! }}
                  fields={fields}
                  values={rule}
                  note={concerned(rule.reach)}
                  prepare={preparing(rule)}
                  submit="Save"
                  said="Saved."
                />
              ),
          },
        ]}
      />
    </>
  );
}

/** The rule of an organization, for those who may administer it. */
export function OrganizationSecondFactors({ organization }: { organization: string }) {
  const { data } = useData(OrganizationSecondFactorRule, { organization });
  const rule = data?.organizationSecondFactorRule;
  if (!rule) return null;
  return (
    <Panel
      title="Second factors"
      actions={
        <Action
          label="Change the rule"
          run={SetOrganizationSecondFactorRule}
          given={{ organization }}
          fields={fields}
          values={rule}
          note={`${concerned(rule.reach)} A rule of the deployment that is stricter counts instead.`}
          prepare={preparing(rule)}
          submit="Save"
          said="Saved."
        />
      }
    >
      <Facts
        facts={[
          ["Members", textOf(rule)],
          ["Since", <Time key="since" at={rule.since} none="–" />],
          ["Without one", `${rule.reach.withoutFactorCount} of ${rule.reach.peopleCount}`],
        ]}
      />
    </Panel>
  );
}
