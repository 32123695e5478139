import { useMutation, useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import { Confirmed } from "../ui/form";
import { List } from "../ui/list";
import { usePlace } from "../ui/pages";
import { Heading, Time } from "../ui/parts";

const grantsQuery = graphql(`
  query Grants($first: Int, $after: String, $last: Int, $before: String) {
    oauth2Grants(user: "me", first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        createdAt
        lastUsedAt
        expiresAt
        scopes
        app {
          id
          name
        }
      }
      pageInfo {
        startCursor
        endCursor
        hasNextPage
        hasPreviousPage
      }
    }
  }
`);

const revokeGrant = graphql(`
  mutation RevokeGrant($input: RevokeOAuth2GrantInput!) {
    revokeOAuth2Grant(input: $input) {
      oauth2Grant {
        id
      }
    }
  }
`);

export function GrantsPage() {
  const place = usePlace();
  const result = useQuery(grantsQuery, { variables: place.cursors });
  const list = (result.data ?? result.previousData)?.oauth2Grants;
  const [revoke] = useMutation(revokeGrant, { refetchQueries: ["Grants"] });
  return (
    <>
      <Heading title="App access" note="Applications that may act for you" />
      <List
        name="Grants"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="You have not given any application access."
        place={place}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          { title: "Application", show: ({ app }) => app.name },
          {
            title: "May",
            show: ({ scopes }) => (
              <span className="scopes">
                {scopes.map((scope) => (
                  <code key={scope}>{scope}</code>
                ))}
              </span>
            ),
          },
          { title: "Given", show: ({ createdAt }) => <Time at={createdAt} /> },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          { title: "Ends", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ id, app }) => (
              <Confirmed
                label="Revoke"
                on={app.name}
                question={`Revoke the access of ${app.name}?`}
                act={() => revoke({ variables: { input: { id } } })}
              />
            ),
          },
        ]}
      />
    </>
  );
}
