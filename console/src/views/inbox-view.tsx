import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { Choice, Filters, Pager } from "../ui/list";
import { Markdown } from "../ui/markdown";
import { Empty, Heading, Loading, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { Inbox, MarkAllRead, MarkNotification } from "./inbox-view.gql";

export function InboxView() {
  const place = usePlace();
  const readStatus = place.filter<"READ" | "UNREAD">("read");
  const { data, error, refresh } = useData(Inbox, { filter: readStatus && { readStatus }, ...place.cursors });
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { inboxNotifications: page } = data;
  const { nodes } = page;
  const unread = data.unread.totalCount;
  return (
    <>
      <Heading title="Inbox" note={unread > 0 ? `${unread} unread` : "Everything is read"}>
        {unread > 0 && <Action label="Mark all as read" run={MarkAllRead} given={{}} />}
      </Heading>
      <Filters>
        <Choice
          place={place}
          label="Show"
          name="read"
          options={[
            ["UNREAD", "Unread"],
            ["READ", "Read"],
          ]}
        />
      </Filters>
      {nodes.length === 0 && <Empty>Nothing here. Notifications about your workspaces and account appear here.</Empty>}
      <ul class="inbox">
        {nodes.map(({ id, title, content, createdAt, readAt, actions }) => (
          <li key={id} class={readAt ? "" : "unread"}>
            <article aria-label={title}>
              <h2>{title}</h2>
              <p>
                <Markdown text={content} />
              </p>
              <p>
                <Time at={createdAt} />
                {actions.map(({ label, url }) => (
                  <a key={url} href={url}>
                    {label}
                  </a>
                ))}
              </p>
            </article>
            <Action
              label={readAt ? "Mark as unread" : "Mark as read"}
              on={title}
              look="plain"
              run={MarkNotification}
              given={{ id, isRead: !readAt }}
            />
          </li>
        ))}
      </ul>
      <Pager name="Inbox" page={page} place={place} />
    </>
  );
}
