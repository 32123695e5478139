import { getNullableType, type GraphQLArgument, isInputObjectType } from "graphql";
import { type Case, schema } from "./case.js";
import { type Description, parametersOf } from "./rest.js";

/** Fields and operations without cases, and why. */
export const exempt: Readonly<Record<string, string>> = {
  "Query.applicationTarget": "for proxies and application hosts only",
  "Query.agentManifest": "for agents only",
  "Query.externalAgentCredentials": "one credential by the id of its agent",
  "Query.externalAuth": "asks the provider",
  "Query.externalAuthAccessToken": "for agents only, asks the provider",
  "Query.identityProvider": "one of few rows",
  "Query.invitation": "one row by its id, of at most 10,000",
  "Query.invitationOffer": "one row by the token of a link",
  "Query.notificationUnsubscription": "opens a token without a row",
  "Query.oauth2AuthorizationRequest": "for the consent page, by the id of an application",
  "Query.oauth2ClientConfiguration": "for clients that registered themselves",
  "Query.oauth2DeviceRequest": "one code that lives for minutes",
  "Query.oauth2Introspection": "see the bench oauth2",
  "GET /api/v2/notifications/inbox/watch": "a stream",
  "GET /api/v2/audit/stream": "a stream",
  "GET /api/v2/applications/auth-redirect": "makes a key",
  "GET /api/v2/init-script/{os}/{arch}": "a constant",
  "GET /api/v2/external-auth/{externalauth}": "asks the provider",
  "GET /api/v2/external-auth/{externalauth}/device": "asks the provider",
  "GET /oauth2/authorize": "a page; reads what Query.oauth2AuthorizationRequest reads",
  "GET /oauth2/clients/{client_id}": "for clients that registered themselves",
  "GET /scim/v2/ServiceProviderConfig": "a constant",
  "GET /scim/v2/Schemas": "a constant",
  "GET /scim/v2/Schemas/{urn}": "a constant",
  "GET /scim/v2/ResourceTypes": "a constant",
  "GET /scim/v2/ResourceTypes/{name}": "a constant",
  "GET /api/v2/organizations/{organization}/provisionerdaemons/serve": "a socket",
  "GET /api/v2/workspaces/{workspace}/external-agent/{agent}/credentials": "one credential by the id of its agent",
};

/** Arguments that need no case. */
const exemptArguments = new Set([
  "Query.groups complete",
  "Query.organizationGroups complete",
  "Query.connectionLogs before",
  // Rejected, as RFCs require.
  "Query.scimResources cursor",
  "Query.scimResourceTypes filter",
  "Query.scimSchemas filter",
]);

/** A read operation with the names of the arguments that narrow it. */
interface Operation {
  name: string;
  arguments: string[];
}

/** Throws unless every root query field and every GET of a server has a case, and each of its arguments is in one. */
export async function requireCoverage(cases: readonly Case[], description: Description): Promise<void> {
  const requests = await Promise.all(cases.map((each) => each.request(async () => placeholder)));
  const text = new Map<string, string>();
  for (const [nr, { operation }] of cases.entries()) text.set(operation, (text.get(operation) ?? "") + requests[nr]!);
  const missing = [...rootFields(), ...restReads(description)].flatMap(({ name, arguments: all }) => {
    if (exempt[name]) return [];
    const own = text.get(name);
    if (own === undefined) return [name];
    const used = (argument: string) => new RegExp(`\\b${argument}[:=]`).test(own);
    return all
      .filter((each) => !used(each) && !exemptArguments.has(`${name} ${each}`))
      .map((each) => `${name} ${each}`);
  });
  if (missing.length > 0) throw new Error(`Growth has no case for: ${missing.join(", ")}.`);
}

/** Placeholder for the response from which the request of a page in the middle takes its cursor. */
const placeholder = `{"totalCount":1,"endCursor":""}`;

const rootFields = (): Operation[] =>
  Object.values(schema.getQueryType()!.getFields()).map(({ name, args }) => ({
    name: `Query.${name}`,
    arguments: args.flatMap(namesOf),
  }));

/** An argument, or the fields of a filter. */
function namesOf({ name, type }: GraphQLArgument): string[] {
  const plain = getNullableType(type);
  return isInputObjectType(plain) ? Object.keys(plain.getFields()) : [name];
}

const restReads = ({ paths }: Description): Operation[] =>
  Object.entries(paths).flatMap(([path, { get }]) =>
    get ? [{ name: `GET ${path}`, arguments: parametersOf(get) }] : [],
  );
