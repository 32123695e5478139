import { useRef } from "preact/hooks";
import { changes } from "./api/client";
import { useData, useLive } from "./api/hooks";
import { InboxEvents, Unread } from "./inbox.gql";
import { announce } from "./ui/notices";

/** Watches the inbox: keeps what is shown of it current, and announces new notifications. Returns the unread ones. */
export function useInbox(): number {
  const { data } = useData(Unread, {});
  const since = useRef<string | undefined>(undefined);
  useLive(InboxEvents, String(data !== undefined), {
    // Resumes after the last event, or after the newest notification.
    variables: () => data && { since: since.current ?? data.newest.nodes[0]?.id },
    onEvent: ({ inboxEvents: event }) => {
      if (event.__typename === "InboxNotificationAdded") {
        since.current = event.cursor;
        announce(event.notification.plainTitle);
      }
      if (event.unreadCount !== data?.unread.totalCount) changes.set(changes.value + 1);
    },
  });
  return data?.unread.totalCount ?? 0;
}
