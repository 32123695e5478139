// The checks of the deployment's health: their codes, and what they say to people. `docs/health.md` has a section for each.

/** The state of a check. Failures are errors if something does not work, and warnings if it soon may not. */
export const HealthState = { OK: "ok", WARNING: "warning", ERROR: "error" } as const;
export type HealthState = (typeof HealthState)[keyof typeof HealthState];

/** The checks. Codes are never renamed or removed. */
export const HealthCode = {
  DATABASE_LATENCY: "database_latency",
  DATABASE_VERSION: "database_version",
  DATABASE_SETTINGS: "database_settings",
  DATABASE_SIZE: "database_size",
  DATABASE_POOL: "database_pool",
  STANDBY: "standby",
  MIGRATIONS: "migrations",
  ENCRYPTION_KEYS: "encryption_keys",
  EVENTS: "events",
  NOTIFICATION_QUEUE: "notification_queue",
  JOB_QUEUE: "job_queue",
  TASK_INPUT_QUEUE: "task_input_queue",
  MAIL: "mail",
  WEBHOOK: "webhook",
  DAEMONS: "daemons",
  DAEMON_TAGS: "daemon_tags",
  WORKSPACE_PROXIES: "workspace_proxies",
  ACCESS_URL: "access_url",
  CLOCK: "clock",
  TIME_ZONES: "time_zones",
  DISK: "disk",
  REPLICA_VERSIONS: "replica_versions",
  LICENSES: "licenses",
  ENDING_KEYS: "ending_keys",
  BACKUPS: "backups",
} as const;
export type HealthCode = (typeof HealthCode)[keyof typeof HealthCode];

/** The texts of a check for people, whatever it finds. */
export interface CheckText {
  title: string;
  /** The subject of the check, and why it matters. */
  meaning: string;
  /** A remedy for failures. */
  advice: string;
}

export const checkTexts: Readonly<Record<HealthCode, CheckText>> = {
  database_latency: {
    title: "Database latency",
    meaning: "How long the shortest statement takes on each server. Every request needs several of them.",
    advice: "Run the servers near the database, and look for what keeps its processors, its disk, or the network busy.",
  },
  database_version: {
    title: "Database version",
    meaning: "Whether the release of Postgres still gets fixes from its project.",
    advice: "Plan the upgrade to a newer major release of Postgres.",
  },
  database_settings: {
    title: "Database settings",
    meaning: "Settings of Postgres with which a crash loses data, or tables are no longer cleaned up.",
    advice: "Set fsync, full_page_writes, autovacuum, and track_counts to on in the configuration of Postgres.",
  },
  database_size: {
    title: "Database size",
    meaning: "How large the database is, whether its cleanup keeps up with it, and how many transaction IDs are left.",
    advice:
      "Find what holds old rows, such as a transaction that stays open or an abandoned replication slot, and run VACUUM.",
  },
  database_pool: {
    title: "Database connections",
    meaning: "Whether statements wait for a connection, and whether Postgres allows as many as all servers may open.",
    advice: "Change STEWARD_DATABASE_POOL, or raise max_connections of Postgres.",
  },
  standby: {
    title: "Standby",
    meaning: "Whether the standby of STEWARD_DATABASE_READ_URL serves reads. Without it, they run on the primary.",
    advice: "Look whether the standby runs, and how far its replication is behind.",
  },
  migrations: {
    title: "Migrations",
    meaning: "Whether the schema is complete, and whether tables have partitions for the next month.",
    advice: "Run the command migrate, with a database user that owns the tables.",
  },
  encryption_keys: {
    title: "Encryption keys",
    meaning: "Whether every key that encrypts stored secrets is configured. Without it, they cannot be read.",
    advice: "Add the missing key to STEWARD_ENCRYPTION_KEYS or to the key file of every server.",
  },
  events: {
    title: "Internal events",
    meaning: "Whether the servers hear of changes from each other. Without it, live updates are up to 30 seconds late.",
    advice: "Look at the connection of the servers to Postgres, past poolers, or to NATS.",
  },
  notification_queue: {
    title: "Notifications that wait",
    meaning: "How many notifications wait for their delivery by mail or webhook, and for how long.",
    advice: "Look at the checks of mail and webhook, and whether an owner has paused the delivery.",
  },
  job_queue: {
    title: "Jobs that wait",
    meaning: "How many provisioner jobs wait although a daemon could take them, and for how long.",
    advice: "Run more provisioner daemons, or look at what those that run are busy with.",
  },
  task_input_queue: {
    title: "Task inputs that wait",
    meaning: "How long inputs of active tasks have waited for their delivery.",
    advice: "Look whether the servers reach the addresses of the agents, and at the state of the tasks.",
  },
  mail: {
    title: "Mail",
    meaning: "When a mail was last accepted by the mail server, and whether one was since.",
    advice: "Look at the settings of the mail server, and send a test notification.",
  },
  webhook: {
    title: "Webhook",
    meaning: "When the webhook last accepted a notification, and whether it has since.",
    advice: "Look at the receiver of the webhook, and send a test notification.",
  },
  daemons: {
    title: "Provisioner daemons",
    meaning: "Whether the daemons run the version of the servers, and how many are connected.",
    advice: "Start a daemon if none is connected, and update those that have another version.",
  },
  daemon_tags: {
    title: "Jobs without a daemon",
    meaning:
      "Whether each job that waits has a connected daemon with its type and tags. Without one, it fails in the end.",
    advice: "Start a daemon with these tags in this organization, or correct the tags of the template.",
  },
  workspace_proxies: {
    title: "Workspace proxies",
    meaning: "Whether the registered proxies respond and report no fault.",
    advice: "Look at the log of the proxy, and whether the servers reach its address.",
  },
  access_url: {
    title: "External URL",
    meaning: "Whether STEWARD_ACCESS_URL leads to this deployment, with a certificate that stays valid.",
    advice: "Correct STEWARD_ACCESS_URL, the name in DNS, the reverse proxy, or its certificate.",
  },
  clock: {
    title: "Clocks",
    meaning: "Whether the clocks of the servers agree with that of the database, which decides what has expired.",
    advice: "Synchronize the clocks of all machines, such as with chrony.",
  },
  time_zones: {
    title: "Time zone data",
    meaning: "Whether the sources of time zone data agree about the zones that schedules use.",
    advice: "Update the time zone data of the system, Node.js, and Postgres, or set STEWARD_ZONEINFO_DIR.",
  },
  disk: {
    title: "Disk",
    meaning: "How much space the disk of the data directory has left. A built-in Postgres stops without any.",
    advice: "Delete what is not needed, or enlarge the disk.",
  },
  replica_versions: {
    title: "Versions of the servers",
    meaning: "Whether all servers have the same version. During an upgrade, they differ for some minutes.",
    advice: "Complete the upgrade, or the return to the former version, on all servers.",
  },
  licenses: {
    title: "Licenses",
    meaning: "Whether the licenses are valid for a while, and cover what is in use.",
    advice: "Add a license that continues the present one.",
  },
  ending_keys: {
    title: "Keys that end soon",
    meaning: "Keys of identity providers, applications, and daemons that end within two weeks and were used lately.",
    advice: "Make a new key, give it to the program that uses it, and let the former one end.",
  },
  backups: {
    title: "Backups",
    meaning: "When the last backup was seen: of the command backup, or archived write-ahead log.",
    advice: "Back up the database daily. If another tool does so, mute this check.",
  },
};
