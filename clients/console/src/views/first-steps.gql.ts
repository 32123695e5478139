// Generated from first-steps.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type FirstStepName =
  | 'DAEMON'
  | 'INVITATION'
  | 'SIGN_IN'
  | 'TEMPLATE';

export type FirstStepsQueryVariables = Exact<{ [key: string]: never; }>;


export type FirstStepsQuery = { firstSteps: { isDismissed: boolean, steps: Array<{ name: FirstStepName, isDone: boolean }> } };

export type DismissFirstStepsMutationVariables = Exact<{ [key: string]: never; }>;


export type DismissFirstStepsMutation = { dismissFirstSteps: { firstSteps: { isDismissed: boolean } } };

export const FirstSteps = operation<FirstStepsQuery, FirstStepsQueryVariables>("query FirstSteps { firstSteps { isDismissed steps { name isDone } } }");
export const DismissFirstSteps = operation<DismissFirstStepsMutation, DismissFirstStepsMutationVariables>("mutation DismissFirstSteps { dismissFirstSteps { firstSteps { isDismissed } } }");