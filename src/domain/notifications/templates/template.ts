/** Names of the icons that clients have. */
export type Icon = "DEFAULT_ICON_WORKSPACE" | "DEFAULT_ICON_ACCOUNT" | "DEFAULT_ICON_TEMPLATE" | "DEFAULT_ICON_OTHER";

/** How a kind of notification is an event for endpoints of the organization of its object, the first of its targets. */
export interface TemplateEvent {
  /** The type of the object, and a word for the event, such as `workspace.stops_soon`. */
  readonly type: `${"task" | "template" | "workspace"}.${string}`;
  /** When there is one, as a sentence. */
  readonly when: string;
  /** The labels and values of `data` that it has: names, times, and numbers. No texts of people and programs. */
  readonly details: readonly string[];
}

/** The texts and rules of one kind of notification. The texts are Liquid that renders to Markdown. */
export interface NotificationTemplate {
  readonly id: string;
  readonly name: string;
  /** The heading under which clients list it. */
  readonly group: string;
  readonly kind: "system" | "custom";
  readonly icon: Icon;
  /** One line. */
  readonly title: string;
  readonly body: string;
  /** Liquid that renders to a JSON array of `{label, url}`. */
  readonly actions: string;
  /** Who receives it, in words. */
  readonly recipients: string;
  /** The names of its labels. */
  readonly labels: readonly string[];
  /** Whether users receive it only if they enable it in their preferences. */
  readonly isOffByDefault?: true;
  /** Whether suspended users receive it. */
  readonly reachesSuspended?: true;
  /** Whether the user who caused the event is not told of it. */
  readonly leavesOutInitiator?: true;
  /** Whether it is sent whatever the preferences are. */
  readonly isMandatory?: true;
  /** Default: it is no event, since the audit log has one, or since it belongs to no organization. */
  readonly event?: TemplateEvent;
}

/** A template that is no event. */
export type PlainTemplate = NotificationTemplate & { readonly event?: never };

/** A template that is one. */
export type EventTemplate = NotificationTemplate & { readonly event: TemplateEvent };
