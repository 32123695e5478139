import { cacheExchange, Client, type CombinedError, fetchExchange, mapExchange } from "@urql/core";
import { createClient } from "graphql-ws";
import { describe } from "./errors";
import type { Operation } from "./operation";
import { noticeAbsence } from "./reachability";
import { isProvenAfter } from "./proof";
import { addFactorFirst, changePasswordFirst, csrfToken, signInAgain } from "./session";
import { signal } from "./signal";

/** Whether subscriptions are connected. */
export const isLive = signal(false);

/** The socket of all subscriptions. It does not reconnect by itself: `useLive` subscribes again, where it stopped. */
export const socket = createClient({
  url: `${location.origin.replace("http", "ws")}/graphql`,
  retryAttempts: 0,
  lazyCloseTimeout: 2_000,
  on: { connected: () => isLive.set(true), closed: () => isLive.set(false) },
});

function onFailure(error: CombinedError): void {
  const { code, reason } = describe(error);
  if (code === "UNAUTHENTICATED") signInAgain();
  else if (reason === "password_change_required") changePasswordFirst();
  else if (reason === "second_factor_required") addFactorFirst();
  else if (code === "UNREACHABLE") noticeAbsence();
}

export const client = new Client({
  url: "/graphql",
  preferGetMethod: false,
  fetchOptions: () => ({ headers: { "X-CSRF-Token": csrfToken() } }),
  exchanges: [mapExchange({ onError: onFailure }), cacheExchange, fetchExchange],
});

/** Counts the changes that were made here: what is shown loads again after each. */
export const changes = signal(0);

/** Runs a mutation, after a question to the user who that is if it takes one. Throws its error. */
export async function perform<Data, Variables extends object>(
  { text }: Operation<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  let { data, error } = await client.mutation<Data>(text, variables).toPromise();
  // A proof that was just given may be too late again, or not be known to every server yet.
  while (error && (await isProvenAfter(error)))
    ({ data, error } = await client.mutation<Data>(text, variables).toPromise());
  if (error) throw error;
  changes.set(changes.value + 1);
  return data!;
}

/** Runs a query once. Throws its error. */
export async function ask<Data, Variables extends object>(
  { text }: Operation<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  const { data, error } = await client.query<Data>(text, variables, { requestPolicy: "network-only" }).toPromise();
  if (error) throw error;
  return data!;
}
