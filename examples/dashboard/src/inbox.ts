import { useApolloClient, useQuery } from "@apollo/client/react";
import { useEffect, useState } from "react";
import { socket } from "./api/client";
import { useLive } from "./api/live";
import { graphql } from "./gql";
import { useNotices } from "./ui/notices";

export const inboxQuery = graphql(`
  query Inbox {
    inboxNotifications(first: 50) {
      nodes {
        id
        title
        content
        createdAt
        readAt
        actions {
          label
          url
        }
      }
      pageInfo {
        startCursor
        endCursor
        hasNextPage
        hasPreviousPage
      }
    }
    unread: inboxNotifications(filter: { readStatus: UNREAD }, first: 1) {
      totalCount
    }
  }
`);

const inboxSubscription = graphql(`
  subscription InboxEvents($since: String) {
    inboxEvents(since: $since) {
      __typename
      ... on InboxNotificationAdded {
        cursor
        notification {
          id
          title
        }
      }
    }
  }
`);

/** Watches the inbox: keeps the loaded notifications current, and announces new ones. */
export function useInbox(): { unread: number; isLive: boolean } {
  const apollo = useApolloClient();
  const { say } = useNotices();
  const { data } = useQuery(inboxQuery);
  const [since, setSince] = useState<string>();
  const [isLive, setLive] = useState(false);
  const isLoaded = data !== undefined;

  useEffect(() => {
    const opened = socket.on("connected", () => setLive(true));
    const closed = socket.on("closed", () => setLive(false));
    return () => [opened, closed].forEach((remove) => remove());
  }, []);

  const load = () => void apollo.query({ query: inboxQuery, fetchPolicy: "network-only" }).catch(() => {});
  useLive(inboxSubscription, String(isLoaded), {
    // Resumes after the last event, or after the newest notification on the page.
    variables: () => (isLoaded ? { since: since ?? data.inboxNotifications.nodes[0]?.id } : undefined),
    onEvent: ({ inboxEvents: event }) => {
      if (event.__typename === "InboxNotificationAdded") {
        setSince(event.cursor);
        say(event.notification.title);
      }
      load();
    },
  });
  return { unread: data?.unread.totalCount ?? 0, isLive };
}
