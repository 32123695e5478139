import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { SetContextLink } from "@apollo/client/link/context";
import { ErrorLink } from "@apollo/client/link/error";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { OperationTypeNode } from "graphql";
import { createClient } from "graphql-ws";
import { describe } from "./errors";
import { serverIsAway } from "./reachability";
import { connectionParams, credentialHeaders, forgetSession, isSignedIn } from "./session";

const withCredentials = new SetContextLink(({ headers }) => ({ headers: { ...headers, ...credentialHeaders() } }));

const onFailure = new ErrorLink(({ error }) => {
  const { code } = describe(error);
  if (code === "UNAUTHENTICATED" && isSignedIn()) forgetSession();
  if (code === "UNREACHABLE") serverIsAway();
});

/** The socket of all subscriptions. It does not reconnect by itself: `useLive` subscribes again, where it stopped. */
export const socket = createClient({
  url: `${location.origin.replace("http", "ws")}/graphql`,
  connectionParams,
  retryAttempts: 0,
  lazyCloseTimeout: 2_000,
});

const isSubscription = ({ operationType }: ApolloLink.Operation) => operationType === OperationTypeNode.SUBSCRIPTION;

export const apollo = new ApolloClient({
  link: ApolloLink.split(
    isSubscription,
    new GraphQLWsLink(socket),
    ApolloLink.from([onFailure, withCredentials, new HttpLink({ uri: "/graphql" })]),
  ),
  cache: new InMemoryCache({
    possibleTypes: { InboxEvent: ["InboxNotificationAdded", "InboxUnreadCountChanged", "InboxWatchRestarted"] },
    // Its ID is that of the user, who is a member of several organizations.
    typePolicies: { OrganizationMember: { keyFields: false } },
  }),
  defaultOptions: { watchQuery: { fetchPolicy: "cache-and-network" } },
});
