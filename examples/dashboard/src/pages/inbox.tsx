import { useMutation, useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import { inboxQuery } from "../inbox";
import { Failure } from "../ui/failure";
import { Markdown } from "../ui/markdown";
import { useNotices } from "../ui/notices";
import { Empty, Heading, Loading, Time } from "../ui/parts";

const mark = graphql(`
  mutation MarkNotification($input: MarkInboxNotificationInput!) {
    markInboxNotification(input: $input) {
      notification {
        id
        readAt
      }
    }
  }
`);

const markAll = graphql(`
  mutation MarkAllNotifications {
    markAllInboxNotificationsRead {
      unreadCount
    }
  }
`);

const refetchQueries = ["Inbox"];

export function InboxPage() {
  const { data, error, refetch } = useQuery(inboxQuery, { fetchPolicy: "cache-first" });
  const [markOne] = useMutation(mark, { refetchQueries });
  const [markEvery] = useMutation(markAll, { refetchQueries });
  const { attempt } = useNotices();
  const nodes = data?.inboxNotifications.nodes;
  const unread = data?.unread.totalCount ?? 0;
  return (
    <>
      <Heading title="Inbox" note={nodes && (unread === 0 ? "Everything is read" : `${unread} unread`)}>
        <button type="button" disabled={unread === 0} onClick={() => void attempt(() => markEvery())}>
          Mark all as read
        </button>
      </Heading>
      {!nodes && (error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />)}
      {nodes?.length === 0 && <Empty>No notifications yet. New ones appear here by themselves.</Empty>}
      <ul className="inbox">
        {nodes?.map(({ id, title, content, createdAt, readAt, actions }) => (
          <li key={id} className={readAt ? "" : "unread"}>
            <article aria-label={title}>
              <h2>{title}</h2>
              <p>
                <Markdown text={content} />
              </p>
              <p className="faint">
                <Time at={createdAt} />
                {actions.map(({ label, url }) => (
                  <a key={url} href={url}>
                    {label}
                  </a>
                ))}
              </p>
            </article>
            <button
              type="button"
              className="plain"
              onClick={() => void attempt(() => markOne({ variables: { input: { id, isRead: !readAt } } }))}
            >
              {readAt ? "Mark as unread" : "Mark as read"}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
