import type { OperationVariables, TypedDocumentNode } from "@apollo/client";
import { useApolloClient } from "@apollo/client/react";
import { useEffect, useEffectEvent } from "react";

interface Live<Data, Variables> {
  /** The variables of the next subscription, such as where to resume; nothing is watched without them. */
  variables: () => Variables | undefined;
  /** Called with each event. */
  onEvent?: (data: Data) => void;
  /** Called when the subscription begins again: events may have been missed, unless it resumes. */
  onRestart?: () => void;
}

/** Milliseconds before a subscription that ended begins again; a random part keeps clients from coming together. */
const pause = () => 500 + 1_500 * Math.random();

/** Subscribes, again after each disconnect, until the component is gone or `key` changes. */
export function useLive<Data, Variables extends OperationVariables>(
  query: TypedDocumentNode<Data, Variables>,
  key: string,
  live: Live<Data, Variables>,
): void {
  const apollo = useApolloClient();
  const variablesNow = useEffectEvent(() => live.variables());
  const onEvent = useEffectEvent((data: Data) => live.onEvent?.(data));
  const onRestart = useEffectEvent(() => live.onRestart?.());
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stop: () => void = () => {};
    const begin = (isRestart: boolean) => {
      const variables = variablesNow();
      if (!variables) return;
      if (isRestart) onRestart();
      const again = () => {
        clearTimeout(timer);
        timer = setTimeout(() => begin(true), pause());
      };
      const subscription = apollo.subscribe<Data, Variables>({ query, variables } as never).subscribe({
        next: ({ data, error }) => {
          if (data) onEvent(data as Data);
          else if (error) again();
        },
        error: again,
        complete: again,
      });
      stop = () => subscription.unsubscribe();
    };
    begin(false);
    return () => {
      clearTimeout(timer);
      stop();
    };
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- the key stands for the variables
  }, [apollo, query, key]);
}
