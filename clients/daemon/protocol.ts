// The operations of the protocol for daemons, version 1.0, and the types of their variables and results.

export const protocolVersion = "1.0";

/** Pushes work: at most `slots` jobs are assigned or running at a time. */
export const workSubscription = /* GraphQL */ `
  subscription Work($slots: Int!) {
    provisionerWorkReceived(slots: $slots) {
      __typename
      ... on ProvisionerJobAssigned {
        jobId
        lease
        expiresAt
        type
        tags
        assignment {
          document
          variables {
            name
            value
          }
          parameters {
            name
            value
          }
          transition
          buildNumber
          claim
          state
          accessUrl
          workspace {
            id
            name
            owner {
              id
              username
            }
          }
          task {
            id
            prompt
          }
        }
      }
      ... on ProvisionerJobCancelRequested {
        jobId
      }
      ... on ProvisionerDrainRequested {
        reason
      }
    }
  }
`;

export const acceptMutation = /* GraphQL */ `
  mutation Accept($input: AcceptProvisionerJobInput!) {
    acceptProvisionerJob(input: $input) {
      expiresAt
    }
  }
`;

export const updateMutation = /* GraphQL */ `
  mutation Update($input: UpdateProvisionerJobInput!) {
    updateProvisionerJob(input: $input) {
      cancelRequested
      logsOverflowed
    }
  }
`;

export const reportMutation = /* GraphQL */ `
  mutation Report($input: ReportProvisionerResourcesInput!) {
    reportProvisionerResources(input: $input) {
      dailyCost
      agents {
        name
        agentId
        external
        token
      }
    }
  }
`;

export const completeMutation = /* GraphQL */ `
  mutation Complete($input: CompleteProvisionerJobInput!) {
    completeProvisionerJob(input: $input) {
      status
    }
  }
`;

export const failMutation = /* GraphQL */ `
  mutation Fail($input: FailProvisionerJobInput!) {
    failProvisionerJob(input: $input) {
      status
    }
  }
`;

/** A JSON object. */
export type Json = Record<string, unknown>;

/** The part of a template document that the daemon reads. The server has validated it. */
export interface Document {
  provisioner: string;
  parameters?: Array<{ name: string; default?: unknown }>;
  resources?: DocumentResource[];
}

export interface DocumentResource extends Json {
  name: string;
  transitions?: string[];
  metadata?: Array<{ value?: string } & Json>;
  limits?: Limits;
  agents?: DocumentAgent[];
}

/** Limits of the processes of a resource: amounts as numbers or as texts, "" for none. */
export interface Limits extends Json {
  memory?: string;
  cpus?: number | string;
  processes?: number | string;
  /** Whether a build fails where they cannot be enforced. */
  required?: boolean;
}

export interface DocumentAgent extends Json {
  name: string;
  directory?: string;
  env?: Record<string, string>;
  command?: string[];
  external?: boolean;
  apps?: Array<{ url?: string; healthcheck?: { url: string } & Json } & Json>;
}

export interface NamedValue {
  name: string;
  value: string;
}

export type JobType = "TEMPLATE_VERSION_IMPORT" | "TEMPLATE_VERSION_DRY_RUN" | "WORKSPACE_BUILD";

export interface Workspace {
  id: string;
  name: string;
  owner: { id: string; username: string };
}

/** The input of a job. Imports and dry runs have no workspace and no transition. */
export interface Assignment {
  document: Document;
  variables: NamedValue[];
  parameters: NamedValue[];
  transition: "START" | "STOP" | "DELETE" | null;
  buildNumber: number | null;
  claim: boolean;
  /** The state that the previous build of the workspace passed to `completeProvisionerJob`. */
  state: unknown;
  accessUrl: string;
  workspace: Workspace | null;
  task: { id: string; prompt: string } | null;
}

export interface JobAssigned {
  __typename: "ProvisionerJobAssigned";
  jobId: string;
  lease: string;
  type: JobType;
  assignment: Assignment;
}

export type Work =
  | JobAssigned
  | { __typename: "ProvisionerJobCancelRequested"; jobId: string }
  | { __typename: "ProvisionerDrainRequested"; reason: string };

/** An agent that the server created for a reported resource. The token is null except for the agents of a start. */
export interface ReportedAgent {
  name: string;
  agentId: string;
  external: boolean;
  token: string | null;
}

export type LogLevel = "TRACE" | "DEBUG" | "INFO" | "WARN" | "ERROR";
