import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { Choice, Filters, Pager } from "../ui/list";
import { useOptimistic } from "../ui/optimistic";
import { Empty, Heading, Loading, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { Inbox, type InboxQuery, MarkAllRead, MarkNotification, SendToSelf } from "./inbox-view.gql";

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
        <Action
          label="Write to yourself"
          note="A reminder for you alone. It reaches you here, and by every way that you have switched on."
          run={SendToSelf}
          given={{}}
          part="content"
          fields={[
            { name: "title", hint: "What it is about.", placeholder: "Renew the certificate" },
            { name: "message", hint: "Markdown makes it bold, a list, or a link." },
          ]}
          prepare={(content) => ({ content })}
          submit="Send"
          said="It is under way to you."
        />
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
        {nodes.map((notification) => (
          <Notification key={notification.id} notification={notification} />
        ))}
      </ul>
      <Pager name="Inbox" page={page} place={place} />
    </>
  );
}

function Notification({ notification }: { notification: InboxQuery["inboxNotifications"]["nodes"][number] }) {
  const { id, plainTitle: title, plainContent: content, createdAt, readAt, actions } = notification;
  const [isRead, change] = useOptimistic(readAt !== null);
  return (
    <li class={isRead ? "" : "unread"}>
      <article aria-label={title}>
        <h2>{title}</h2>
        <p class="text">{content}</p>
        <p>
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
        class="plain"
        aria-label={`${isRead ? "Mark as unread" : "Mark as read"} ${title}`}
        onClick={() => change(!isRead, () => perform(MarkNotification, { input: { id, isRead: !isRead } }))}
      >
        {isRead ? "Mark as unread" : "Mark as read"}
      </button>
    </li>
  );
}
