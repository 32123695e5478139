// Documents with which templates begin, from the smallest to those whose agents do tasks.

interface Starter {
  name: string;
  title: string;
  sentence: string;
  document: { variables?: ReadonlyArray<{ name: string; description: string }> } & Record<string, unknown>;
}

const schema = "steward.template/1";

/** An app at which the program of a task listens. */
const chat = {
  slug: "chat",
  display_name: "Chat",
  url: "http://${host.address}:${port.chat}",
  healthcheck: { url: "http://${host.address}:${port.chat}/status", interval: 5, threshold: 3 },
};

const program = (description: string) => ({ name: "program", description });

export const starters: readonly Starter[] = [
  {
    name: "echo",
    title: "A trial",
    sentence: "Builds nothing: to see how templates, parameters, and builds work.",
    document: {
      schema,
      provisioner: "echo",
      parameters: [],
      resources: [{ name: "box", type: "container", agents: [{ name: "main", os: "linux", arch: "amd64" }] }],
    },
  },
  {
    name: "agentapi",
    title: "An agent that speaks AgentAPI",
    sentence: "The provisioner starts a program that serves AgentAPI over HTTP. Its workspaces do tasks.",
    document: {
      schema,
      provisioner: "process",
      variables: [program("Absolute path of the program on the machine of the provisioner.")],
      ai_task: { agent: "main", app: "chat" },
      resources: [
        {
          name: "box",
          type: "process",
          agents: [
            {
              name: "main",
              os: "linux",
              arch: "amd64",
              command: ["${var.program}", "--host", "${host.address}", "--port", "${port.chat}"],
              restart: "on_failure",
              apps: [chat],
            },
          ],
        },
      ],
    },
  },
  {
    name: "acp",
    title: "An agent that speaks ACP",
    sentence:
      "The provisioner starts a program of the Agent Client Protocol, such as gemini --acp. Its workspaces do tasks.",
    document: {
      schema,
      provisioner: "process",
      variables: [program("Absolute path of the program, which is started with --acp.")],
      ai_task: { agent: "main", app: "chat", protocol: "acp" },
      resources: [
        {
          name: "box",
          type: "process",
          agents: [
            {
              name: "main",
              os: "linux",
              arch: "amd64",
              command: ["${var.program}", "--acp"],
              restart: "on_failure",
              apps: [{ slug: "chat", display_name: "Chat" }],
            },
          ],
        },
      ],
    },
  },
  {
    name: "external",
    title: "A machine of your own",
    sentence: "Steward builds nothing: you start the agent on a machine that you have, with a token.",
    document: {
      schema,
      provisioner: "echo",
      resources: [{ name: "machine", agents: [{ name: "main", os: "linux", arch: "amd64", external: true }] }],
    },
  },
];
