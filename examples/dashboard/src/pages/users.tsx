import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { Link } from "react-router";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import type { UserOrderField, UserStatus } from "../gql/graphql";
import { FormDialog } from "../ui/form";
import { Choice, List, Search } from "../ui/list";
import { orderOf, usePlace } from "../ui/pages";
import { Heading, Person, Status, Time, wordsOf } from "../ui/parts";

const usersQuery = graphql(`
  query Users($filter: UserFilter, $orderBy: UserOrder, $first: Int, $after: String, $last: Int, $before: String) {
    users(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        username
        name
        email
        avatarUrl
        status
        lastSeenAt
        createdAt
        roles {
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

const createUser = graphql(`
  mutation CreateUser($input: CreateUserInput!) {
    createUser(input: $input) {
      user {
        id
      }
    }
  }
`);

const sorts: readonly UserOrderField[] = ["USERNAME", "CREATED_AT"];

/** The role that everyone has says nothing. */
export const rolesOf = (roles: ReadonlyArray<{ name: string }>): string =>
  roles
    .filter(({ name }) => name !== "MEMBER")
    .map(({ name }) => wordsOf(name))
    .join(", ");

export function UsersPage() {
  const place = usePlace();
  const order = orderOf(place, sorts, "USERNAME");
  const filter = { search: place.get("q") || null, status: (place.get("status") || null) as UserStatus | null };
  const result = useQuery(usersQuery, { variables: { ...place.cursors, filter, orderBy: order } });
  const list = (result.data ?? result.previousData)?.users;
  const [isCreating, setCreating] = useState(false);
  const may = useAllowed({ create: { may: "user:create" } });
  return (
    <>
      <Heading title="Users">
        {may("create") && (
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            Create a user
          </button>
        )}
      </Heading>
      <div className="filters">
        <Search place={place} label="Search by name or email" />
        <Choice
          place={place}
          label="Status"
          name="status"
          options={[
            ["ACTIVE", "Active"],
            ["SUSPENDED", "Suspended"],
          ]}
        />
      </div>
      <List
        name="Users"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No user matches."
        place={place}
        order={order}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          {
            title: "Username",
            sort: "USERNAME",
            show: (user) => (
              <Link to={`/users/${user.id}`}>
                <Person user={user} />
              </Link>
            ),
          },
          { title: "Email", show: ({ email }) => email },
          { title: "Roles", show: ({ roles }) => rolesOf(roles) || <span className="faint">Member</span> },
          { title: "Status", show: ({ status }) => <Status name={status} /> },
          { title: "Last seen", show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          { title: "Created", sort: "CREATED_AT", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {isCreating && <CreateUser onClose={() => setCreating(false)} />}
    </>
  );
}

function CreateUser({ onClose }: { onClose: () => void }) {
  const [create] = useMutation(createUser, { refetchQueries: ["Users"] });
  return (
    <FormDialog
      title="Create a user"
      submit="Create"
      fields={[
        { name: "email", label: "Email", type: "email", isRequired: true },
        { name: "username", label: "Username", isRequired: true },
        { name: "name", label: "Name" },
        { name: "password", label: "Password", type: "password", autoComplete: "new-password", isRequired: true },
      ]}
      onSubmit={({ email = "", username = "", name, password }) =>
        create({ variables: { input: { email, username, name, password, loginType: "PASSWORD" } } })
      }
      onClose={onClose}
    />
  );
}
