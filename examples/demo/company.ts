// The company of the demonstration: the people of Larkspur Robotics, their groups, and what they work with.

/** Millionths of the currency. */
const currency = 1_000_000;

export interface DemoPerson {
  username: string;
  name: string;
  /** Site roles. */
  roles?: string[];
  /** Whether the person is a member of the second organization as well. */
  isInLab?: boolean;
}

export const people: DemoPerson[] = [
  { username: "amara", name: "Amara Osei", roles: ["USER_ADMIN"] },
  { username: "bruno", name: "Bruno Keller", roles: ["TEMPLATE_ADMIN"] },
  { username: "chiara", name: "Chiara Lombardi", isInLab: true },
  { username: "dmitri", name: "Dmitri Antonov" },
  { username: "esther", name: "Esther Nakamura", isInLab: true },
  { username: "farid", name: "Farid Haddad" },
  { username: "greta", name: "Greta Lindqvist", roles: ["AUDITOR"] },
  { username: "ines", name: "Inês Carvalho" },
  { username: "keiko", name: "Keiko Tanabe" },
  { username: "liam", name: "Liam Byrne" },
];

/** People who join in the course of the month before today. */
export const newcomers: DemoPerson[] = [
  { username: "malik", name: "Malik Johnson" },
  { username: "nadia", name: "Nadia Petrova", isInLab: true },
  { username: "oscar", name: "Oscar Méndez" },
  { username: "priya", name: "Priya Raman" },
  { username: "quentin", name: "Quentin Dubois" },
  { username: "rosa", name: "Rosa Almeida", isInLab: true },
  { username: "sven", name: "Sven Aalto" },
  { username: "tomoko", name: "Tomoko Hayashi" },
];

export const emailOf = ({ username }: Pick<DemoPerson, "username">): string => `${username}@larkspur.example`;

export const lab = {
  name: "lab",
  displayName: "Larkspur Lab",
  description: "Robots that do not exist yet.",
};

export const groups = [
  {
    group: { organization: "default", name: "firmware", displayName: "Firmware", quotaAllowance: 40 },
    members: ["dmitri", "farid", "keiko"],
    budget: 250 * currency,
  },
  {
    group: { organization: "default", name: "platform", displayName: "Platform", quotaAllowance: 60 },
    members: ["amara", "bruno", "ines", "liam"],
    budget: 400 * currency,
  },
  {
    group: { organization: "default", name: "design", displayName: "Industrial design", quotaAllowance: 20 },
    members: ["chiara", "greta"],
  },
  {
    group: { organization: lab.name, name: "perception", displayName: "Perception", quotaAllowance: 120 },
    members: ["chiara", "esther"],
    budget: 900 * currency,
  },
];

const agent = (apps: object[]) => ({
  name: "main",
  os: "linux",
  arch: "amd64",
  external: true,
  apps,
});

const document = (resource: string, dailyCost: number, apps: object[], more: object = {}) => ({
  schema: "steward.template/1",
  provisioner: "echo",
  ...more,
  resources: [
    { name: resource, type: "container", daily_cost: dailyCost, agents: [agent(apps)] },
    { name: "home", type: "volume", daily_cost: 1, transitions: ["start", "stop"] },
  ],
});

const size = {
  name: "size",
  display_name: "Size",
  default: "small",
  options: [
    { name: "Small: 2 cores, 4 GB", value: "small" },
    { name: "Large: 8 cores, 32 GB", value: "large" },
  ],
};

/** The input of `createTemplate`. */
export interface TemplateInput {
  organization: string;
  name: string;
  displayName: string;
  description: string;
  document: object;
  variables?: Array<{ name: string; value: string }>;
}

export type Templates = Record<"service" | "firmware" | "assistant", TemplateInput>;

/** Where the program of a task is, unless the template has another value. Nothing listens there. */
const nowhere = "http://127.0.0.1:9";

/** The built-in daemon of the type `echo` builds their workspaces; the demonstration speaks for the agents. */
export const templates: Templates = {
  service: {
    organization: "default",
    name: "node-service",
    displayName: "Node service",
    description: "A container with Node, Postgres, and an editor in the browser.",
    document: document("container", 4, [{ slug: "editor", display_name: "Editor" }], { parameters: [size] }),
  },
  firmware: {
    organization: "default",
    name: "firmware",
    displayName: "Firmware toolchain",
    description: "Cross compilers, a board emulator, and the signing tools.",
    document: document("container", 6, [{ slug: "emulator", display_name: "Board emulator" }]),
  },
  assistant: {
    organization: "default",
    name: "assistant",
    displayName: "Coding assistant",
    description: "Gives an AI agent a task in a repository.",
    document: document("container", 5, [{ slug: "chat", display_name: "Chat", url: "${var.chat}/${task.id}" }], {
      variables: [{ name: "chat", description: "Where the programs of tasks are.", default: nowhere }],
      ai_task: { agent: "main", app: "chat" },
    }),
  },
};

/** The operating system and the architecture of this machine, as template documents name them. */
const machine = {
  os: process.platform === "darwin" ? "darwin" : "linux",
  arch: process.arch === "arm64" ? "arm64" : "amd64",
};

/** An agent whose command is a program of this machine, with an app that it serves. */
const running = (app: { slug: string; display_name: string; tooltip: string }, icon: string) => {
  const url = `http://\${host.address}:\${port.${app.slug}}`;
  return {
    name: "main",
    ...machine,
    restart: "on_failure",
    troubleshooting_url: "https://docs.larkspur.example/workspaces/agents",
    command: [
      "${var.node}",
      "${var.program}",
      "--host",
      "${host.address}",
      "--port",
      `\${port.${app.slug}}`,
      "--title",
      app.display_name,
    ],
    apps: [
      {
        ...app,
        icon,
        url,
        external: true,
        open_in: "tab",
        healthcheck: { url: `${url}/healthz`, interval: 5, threshold: 3 },
      },
    ],
  };
};

const program = [
  { name: "node", description: "Path of Node.js on the machine of the daemon." },
  { name: "program", description: "Path of the program." },
];

/** A document of the type `process`, whose programs run on the machine of the daemon. */
const processDocument = (given: { resource: string; dailyCost: number; agents: object[] }, more: object = {}) => ({
  schema: "steward.template/1",
  provisioner: "process",
  variables: program,
  ...more,
  resources: [
    { name: given.resource, type: "process", daily_cost: given.dailyCost, agents: given.agents },
    { name: "home", type: "volume", daily_cost: 1, transitions: ["start", "stop"] },
  ],
});

/** The templates of a server of the demonstration's own, whose workspaces and tasks run on this machine. */
export function runningTemplates(node: string, programs: { app: string; assistant: string }): Templates {
  const variables = (path: string) => [
    { name: "node", value: node },
    { name: "program", value: path },
  ];
  const editor = { slug: "editor", display_name: "Editor", tooltip: "A page with notes that stay in the workspace" };
  const emulator = { slug: "emulator", display_name: "Board emulator", tooltip: "A board without the board" };
  const assistant = {
    name: "main",
    ...machine,
    restart: "on_failure",
    command: ["${var.node}", "${var.program}"],
    apps: [{ slug: "chat", display_name: "Chat" }],
  };
  return {
    service: {
      ...templates.service,
      description: "A workspace with an editor in the browser.",
      document: processDocument(
        { resource: "process", dailyCost: 4, agents: [running(editor, "")] },
        { parameters: [size] },
      ),
      variables: variables(programs.app),
    },
    firmware: {
      ...templates.firmware,
      document: processDocument({ resource: "process", dailyCost: 6, agents: [running(emulator, "")] }),
      variables: variables(programs.app),
    },
    assistant: {
      ...templates.assistant,
      description:
        "Gives an AI agent a task. This one is a small program that responds in parts, and asks before it changes something.",
      document: processDocument(
        { resource: "process", dailyCost: 3, agents: [assistant] },
        { ai_task: { agent: "main", app: "chat", protocol: "acp" } },
      ),
      variables: variables(programs.assistant),
    },
  };
}

/** Built by a daemon that the demonstration plays, which only a server of its own has. */
export const boards = (consoleUrl: string): TemplateInput => ({
  organization: "default",
  name: "board-farm",
  displayName: "Board farm",
  description: "A real board of rack 3 with a serial console. There are eight of them.",
  document: {
    schema: "steward.template/1",
    provisioner: "board-farm",
    tags: { rack: "3" },
    parameters: [{ ...size, name: "board", display_name: "Board" }],
    resources: [
      {
        name: "board",
        type: "board",
        daily_cost: 6,
        // The daemon gets its token, and speaks for it.
        agents: [
          {
            ...agent([
              { slug: "console", display_name: "Serial console", url: consoleUrl, external: true, open_in: "tab" },
            ]),
            external: false,
          },
        ],
      },
      { name: "home", type: "volume", daily_cost: 1, transitions: ["start", "stop"] },
    ],
  },
});

export type TemplateKey = keyof Templates | "boards";

export interface DemoWorkspace {
  owner: string;
  name: string;
  template: TemplateKey;
  /** Whether it is stopped again. */
  isStopped?: true;
}

export const workspaces: DemoWorkspace[] = [
  { owner: "dmitri", name: "motor-control", template: "firmware" },
  { owner: "keiko", name: "battery-gauge", template: "firmware" },
  { owner: "farid", name: "bootloader", template: "firmware", isStopped: true },
  { owner: "ines", name: "fleet-api", template: "service" },
  { owner: "liam", name: "telemetry", template: "service" },
];

/** Workspaces of the board farm, whose builds fail now and then. */
export const boardWorkspaces: DemoWorkspace[] = [
  { owner: "farid", name: "drive-test", template: "boards" },
  { owner: "dmitri", name: "bench-2", template: "boards", isStopped: true },
];

export interface DemoTask {
  owner: string;
  name: string;
  displayName: string;
  input: string;
  /** What its program reports at last. */
  report?: { state: "WORKING" | "IDLE" | "COMPLETE" | "FAILURE"; message: string; uri?: string };
  isPaused?: true;
}

export const tasks: DemoTask[] = [
  {
    owner: "liam",
    name: "flaky-upload",
    displayName: "Fix the flaky upload test",
    input: "The test 'uploads resume after a restart' fails once in fifty runs. Find out why, and fix it.",
    report: { state: "WORKING", message: "Reproduced: the retry timer is not cleared" },
  },
  {
    owner: "ines",
    name: "pagination",
    displayName: "Page the list of robots",
    input: "GET /robots returns all robots. Page it like the other lists, and update the client.",
    report: {
      state: "COMPLETE",
      message: "Opened a pull request with 3 commits",
      uri: "https://git.larkspur.example/fleet/pulls/212",
    },
  },
  {
    owner: "dmitri",
    name: "crc-table",
    displayName: "Generate the CRC table",
    input: "Generate the CRC table at build time instead of keeping it in the repository.",
    report: { state: "IDLE", message: "Which polynomial does the old bootloader use?" },
  },
  {
    owner: "keiko",
    name: "translate-manual",
    displayName: "Translate the manual",
    input: "Translate docs/manual.md into Japanese. Keep the part numbers.",
    isPaused: true,
  },
];

export const secrets = [
  { user: "me", name: "npm-token", description: "Private packages", envName: "NPM_TOKEN" },
  { user: "me", name: "ssh-key", description: "Access to git.larkspur.example", filePath: "~/.ssh/id_ed25519" },
  { user: "me", name: "test-database", description: "Nightly copy, read only", envName: "TEST_DATABASE_URL" },
];

export const provisionerKey = { organization: "default", name: "build-rack", tags: { rack: "3" } };

/** The key of the daemon that runs workspaces on this machine. */
export const workshopKey = { organization: "default", name: "workshop" };

/** Credits a day that each member has, beside those of groups. */
export const everyoneAllowance = 30;

export const apps = [
  {
    name: "Ship's log",
    redirectUris: ["https://log.larkspur.example/signed-in"],
    grantTypes: ["AUTHORIZATION_CODE", "REFRESH_TOKEN"],
    scopeCeiling: ["user:read", "workspace:read", "task:*"],
  },
  {
    name: "Desk display",
    redirectUris: ["http://127.0.0.1:8910/callback"],
    grantTypes: ["AUTHORIZATION_CODE", "REFRESH_TOKEN", "DEVICE_CODE"],
    scopeCeiling: ["user:read", "task:read"],
  },
];

export const messages = [
  { title: "Welcome to Larkspur Robotics", message: "Your dashboard shows what the company works on." },
  { title: "Maintenance on Sunday", message: "Workspaces stop at **06:00 UTC** and can be started again at 06:30." },
  { title: "Firmware 4.2 is out", message: "The signed image is in the release folder." },
];

/** What the people of a month ask of the coding assistant: a name, and the prompt. */
export const pastTasks = [
  ["log-levels", "Log levels by module", "Let each module have a log level of its own."],
  ["retry-upload", "Retry uploads", "Uploads of telemetry give up at the first error. Retry them with growing pauses."],
  ["imu-units", "Units of the IMU", "Use SI units in the driver of the IMU, and convert at its edges."],
  ["ci-cache", "Cache the toolchain", "The pipeline downloads the toolchain each time. Cache it by its version."],
  ["dead-code", "Remove dead code", "Remove the code for the boards of 2017, which nobody has any more."],
  ["map-tiles", "Serve map tiles", "Serve the tiles of the site map from the fleet API."],
  ["fuzz-parser", "Fuzz the parser", "Fuzz the parser of commands for an hour, and fix what it finds."],
  ["docs-links", "Broken links", "Check all links of the documentation, and repair those that are broken."],
] as const;

/** What the program of a task has said, by its name. */
export const conversations: Record<string, string[]> = {
  "flaky-upload": [
    "I ran the test 200 times: it fails 5 times, always when the restart takes longer than two seconds.",
    "Please look at the retry timer first.",
    "Reproduced: the retry timer is not cleared when the connection closes, and fires into the next test.",
  ],
  pagination: ["The list is paged by a cursor now, and so is its client. I opened a pull request with 3 commits."],
  "crc-table": ["The table can be computed at build time. Which polynomial does the old boot loader use?"],
  "translate-manual": ["Chapters 1 to 4 of 9 are translated. Part numbers and commands are unchanged."],
};

/** The input with which the day begins: its task asks for a permission. */
export const firstInput = {
  task: "flaky-upload",
  owner: "liam",
  input: "Good. Push the fix to the branch flaky-upload.",
};

/** The accounts that the demonstration prints, with what each can see. */
export const accounts = [
  { username: "olivia", sees: "the owner: everything, in both organizations" },
  {
    username: "amara",
    sees: "user administrator: people, groups, and organizations, but no logs; own workspaces and tasks",
  },
  { username: "liam", sees: "member: own workspaces and tasks, one of which asks for a permission" },
];

export const ownerName = "olivia";
