import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import type { FieldSpec } from "../ui/form";
import { List } from "../ui/list";
import { Heading, Status, Time } from "../ui/parts";
import { countOf, titleOf, wordsOf } from "../ui/text";
import { useOrganizationOptions } from "./organization-choice";
import {
  CreateIdentityProvider,
  DeleteIdentityProvider,
  OrderIdentityProviders,
  SignInProviders,
  type SignInProvidersQuery,
  TestIdentityProvider,
  UpdateIdentityProvider,
} from "./sign-in-providers.gql";

type Provider = SignInProvidersQuery["identityProviders"][number];

/** What is not filled in has its default, or stays: lists and secrets that are empty are not sent. */
const withoutEmpty = (values: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0)),
  );

const withoutSecrets = ({ clientSecret, clientKey, ...rest }: Record<string, unknown>) => ({
  ...rest,
  ...withoutEmpty({ clientSecret, clientKey }),
});

/** Says if people can sign in through a provider, or why not. */
const stateOf = ({ isActive, isEnabled }: Provider) =>
  isActive ? (
    <Status name="ACTIVE" label="In use" />
  ) : (
    <Status name="NONE" label={isEnabled ? "Hidden by the settings of the server" : "Switched off"} />
  );

export function SignInProvidersView() {
  const providers = useData(SignInProviders, {});
  const organizations = useOrganizationOptions();
  const may = useAllowed({
    create: { may: "sign_in_provider:create" },
    update: { may: "sign_in_provider:update" },
    delete: { may: "sign_in_provider:delete" },
  });
  const stored = (providers.data?.identityProviders ?? []).filter(({ source }) => source === "STORED");
  const settings: FieldSpec[] = [
    { name: "issuer" },
    { name: "displayName" },
    { name: "clientId" },
    { name: "clientSecret" },
    { name: "clientKey", kind: "area" },
    { name: "emailDomains" },
    { name: "admitsNewcomers", label: "People without an account get one" },
    { name: "organizations", label: "Organizations of newcomers", options: organizations },
    { name: "linksByEmail", label: "Links accounts by email" },
    { name: "emailVerified", label: "Unsaid verification of emails" },
    { name: "followsEmail", label: "Accounts follow changes of email" },
    { name: "tenants" },
    { name: "hostedDomains" },
    {
      name: "factorMethods",
      label: "Second factors there, by amr",
      hint: "Values such as mfa or otp: a sign-in with one of them counts as one with a second factor.",
    },
    { name: "factorContexts", label: "Second factors there, by acr", hint: "The same for values of the claim acr." },
    { name: "subjectClaim" },
    { name: "scopes" },
    { name: "checkInterval", label: "Time between checks of people" },
    { name: "signsOut", label: "Sign-outs end the session there" },
    { name: "icon" },
    { name: "isEnabled", label: "People can sign in" },
  ];
  return (
    <>
      <Heading title="Sign-in providers" note="Where people sign in, in the order of the sign-in page.">
        {may("create") && (
          <Action
            label="Add a provider"
            look="primary"
            run={CreateIdentityProvider}
            given={{}}
            fields={["name", "kind", ...settings]}
            defaults={{ kind: "OIDC", admitsNewcomers: true, followsEmail: true, isEnabled: true }}
            prepare={withoutEmpty}
            submit="Add"
            reveal={({ createIdentityProvider: { identityProvider } }) => [
              `Redirect URI of ${identityProvider.name}, to register there`,
              identityProvider.redirectUrl,
            ]}
            remains="Sign-ins fail until the provider knows it. Its form here shows it as well."
          />
        )}
      </Heading>
      <List
        name="Sign-in providers"
        rows={providers.data?.identityProviders}
        from={providers}
        empty="No provider. People sign in with passwords."
        columns={[
          {
            title: "Provider",
            show: ({ label, name, issuer }) => (
              <>
                <b>{label}</b> <span class="faint">{name}</span>
                <span class="faint block">{issuer}</span>
              </>
            ),
          },
          { title: "Kind", show: ({ kind }) => wordsOf(kind) },
          { title: "State", show: stateOf },
          { title: "People", show: ({ linkedUserCount }) => linkedUserCount },
          {
            title: "Newcomers",
            show: ({ admitsNewcomers, emailDomains, organizations: joined }) =>
              admitsNewcomers && emailDomains.length > 0
                ? `${emailDomains.join(", ")} → ${joined.map(titleOf).join(", ") || "default organization"}`
                : "none",
          },
          { title: "Last sign-in", show: ({ report }) => <Time at={report.succeededAt} /> },
          {
            title: "Last failure",
            show: ({ report }) => (
              <>
                <Time at={report.failedAt} />
                {report.failure && <span class="fault block">{report.failure}</span>}
              </>
            ),
          },
          {
            title: "Claims",
            show: ({ claimMappings, appliesClaims, report }) => (
              <>
                {claimMappings.length > 0 && claimMappings.map(({ claim }) => claim).join(", ")}
                {claimMappings.length > 0 && !appliesClaims && <span class="faint block">not applied</span>}
                {report.warning && (
                  <span class="fault block">
                    {report.warning} <Time at={report.warnedAt} />
                  </span>
                )}
              </>
            ),
          },
          {
            title: "Actions",
            isAction: true,
            show: (provider) => (
              <>
                {may("update") && (
                  <Action
                    label="Test"
                    on={provider.name}
                    run={TestIdentityProvider}
                    given={{ provider: provider.name }}
                    done={({ testIdentityProvider: { url } }) => location.assign(url)}
                  />
                )}
                {may("update") && provider.kind === "OIDC" && (
                  <a
                    class="button"
                    href={`/sign-in-providers/${provider.id}/claims`}
                    aria-label={`Claims ${provider.name}`}
                  >
                    Claims
                  </a>
                )}
                {provider.source !== "STORED" && <span class="faint">declared by the server</span>}
                {provider.source === "STORED" && may("update") && (
                  <>
                    <Move provider={provider} among={stored} />
                    <Action
                      label="Edit"
                      on={provider.name}
                      run={UpdateIdentityProvider}
                      given={{ provider: provider.id }}
                      fields={["name", ...settings]}
                      values={{
                        ...provider,
                        organizations: provider.organizations.map(({ id }) => id),
                      }}
                      note={`Redirect URI: ${provider.redirectUrl}`}
                      prepare={withoutSecrets}
                      submit="Save"
                    />
                  </>
                )}
                {provider.source === "STORED" && may("delete") && (
                  <Action
                    label="Delete"
                    on={provider.name}
                    look="danger"
                    confirm={
                      provider.strandedUserCount === 0
                        ? "No person loses the only way to sign in. This cannot be undone."
                        : `${countOf(provider.strandedUserCount, "person", "people")} cannot sign in then, and are signed out. This cannot be undone.`
                    }
                    run={DeleteIdentityProvider}
                    given={{ provider: provider.id, strandedUserCount: provider.strandedUserCount }}
                  />
                )}
              </>
            ),
          },
        ]}
      />
    </>
  );
}

/** Moves a provider up, unless it is the first one that can move. */
function Move({ provider, among }: { provider: Provider; among: readonly Provider[] }) {
  const names = among.map(({ name }) => name);
  const at = names.indexOf(provider.name);
  if (at < 1) return null;
  return (
    <Action
      label="Move up"
      on={provider.name}
      run={OrderIdentityProviders}
      given={{ providers: names.with(at - 1, names[at]!).with(at, names[at - 1]!) }}
    />
  );
}
