// urql in its default settings, and graphql-request. docs/clients.md and its test show Apollo Client.
import { cacheExchange, Client, fetchExchange, gql, subscriptionExchange } from "@urql/core";
import { expect } from "chai";
import { ClientError, GraphQLClient } from "graphql-request";
import { createClient } from "graphql-ws";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

const groupsPage = gql<{ groups: { nodes: Array<{ name: string }>; pageInfo: PageInfo } }>`
  query Groups($search: String!, $after: String) {
    groups(filter: { search: $search }, first: 2, after: $after) {
      nodes {
        id
        name
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`;

interface PageInfo {
  endCursor: string | null;
  hasNextPage: boolean;
}

const createGroup = gql<{ createGroup: { group: { name: string } } }, { input: object }>`
  mutation CreateGroup($input: CreateGroupInput!) {
    createGroup(input: $input) {
      group {
        id
        name
      }
    }
  }
`;

const inbox = gql<{ inboxEvents: { notification?: { title: string } } }>`
  subscription Inbox {
    inboxEvents {
      ... on InboxNotificationAdded {
        notification {
          id
          title
        }
      }
    }
  }
`;

describe("other clients", () => {
  const w = world();
  const url = () => `${w().url}/graphql`;
  const headers = (token: string) => ({ "Service-Session-Token": token });

  const names = ["page-1", "page-2", "page-3"];
  before(() => Promise.all(names.map((name) => w().group(name))));

  describe("urql in its default settings", () => {
    /** A client, and the methods of its requests. */
    function urql(fetchHeaders: Record<string, string>) {
      const requests: string[] = [];
      const client = new Client({
        url: url(),
        exchanges: [cacheExchange, fetchExchange],
        fetchOptions: { headers: fetchHeaders },
        fetch: (input, init) => {
          requests.push(init!.method!);
          return fetch(input, init);
        },
      });
      return { client, requests };
    }

    for (const [where, credential] of Object.entries({
      "Service-Session-Token": headers,
      Authorization: (token: string) => ({ Authorization: `Bearer ${token}` }),
    })) {
      it(`reads pages by GET, with the credential in ${where}`, async () => {
        const { client, requests } = urql(credential(w().owner.token));
        const read: string[] = [];
        let page: PageInfo | undefined;
        do {
          const { data, error } = await client.query(groupsPage, { search: "page-", after: page?.endCursor });
          expect(error).to.equal(undefined);
          read.push(...data!.groups.nodes.map(({ name }) => name));
          page = data!.groups.pageInfo;
        } while (page.hasNextPage);
        expect(read).to.deep.equal(names);
        expect(requests).to.deep.equal(["GET", "GET"]);
      });
    }

    it("runs mutations by POST, and reports errors by field", async () => {
      const { client, requests } = urql(headers(w().owner.token));
      const made = await client.mutation(createGroup, { input: { organization: "default", name: "urql" } });
      expect(made.data!.createGroup.group.name).to.equal("urql");
      const failed = await client.mutation(createGroup, { input: { organization: "default", name: "-" } });
      const { extensions } = failed.error!.graphQLErrors[0]!;
      expect(extensions).to.include({ code: "BAD_USER_INPUT" });
      expect(extensions.validations).to.have.nested.property("[0].field", "input.name");
      expect(requests).to.deep.equal(["POST", "POST"]);
    });

    it("is rejected without a credential, with the header to send named in the error", async () => {
      const { client } = urql({});
      const { error } = await client.query(
        gql`
          {
            serverInfo {
              version
            }
          }
        `,
        {},
      );
      expect(error!.message).to.match(/apollo-require-preflight/);
    });

    it("watches by a subscription over graphql-ws", async () => {
      const [ada] = await w().users("ada");
      const socket = createClient({
        url: url().replace("http", "ws"),
        connectionParams: { sessionToken: ada!.token },
      });
      const forward = subscriptionExchange({
        forwardSubscription: ({ query = "" }) => ({
          subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query }, sink) }),
        }),
      });
      const client = new Client({ url: url(), exchanges: [cacheExchange, fetchExchange, forward] });
      const events: Array<string | undefined> = [];
      const subscription = client.subscription(inbox, {}).subscribe(({ data }) => {
        events.push(data?.inboxEvents.notification?.title);
      });
      await eventually(() => events.length === 1, "the watch begins");
      await w()
        .as(ada!)
        .post("/api/v2/notifications/custom", { content: { title: "Tea" } });
      await eventually(() => events.length === 2, "the notification");
      expect(events).to.deep.equal([undefined, "Tea"]);
      subscription.unsubscribe();
      await socket.dispose();
    });
  });

  describe("graphql-request", () => {
    for (const method of ["POST", "GET"] as const) {
      it(`reads pages by ${method}`, async () => {
        const client = new GraphQLClient(url(), { method, headers: headers(w().owner.token) });
        const first = await client.request(groupsPage, { search: "page-" });
        const after = first.groups.pageInfo.endCursor;
        const second = await client.request(groupsPage, { search: "page-", after });
        expect([first, second].map(({ groups }) => groups.nodes.map(({ name }) => name))).to.deep.equal([
          ["page-1", "page-2"],
          ["page-3"],
        ]);
      });
    }

    it("runs mutations, and reports errors by field", async () => {
      const client = new GraphQLClient(url(), { headers: headers(w().owner.token) });
      const made = await client.request(createGroup, { input: { organization: "default", name: "requested" } });
      expect(made.createGroup.group.name).to.equal("requested");
      const failure = await client
        .request(createGroup, { input: { organization: "default", name: "-" } })
        .catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(ClientError);
      const { extensions } = (failure as ClientError).response.errors![0]!;
      expect(extensions).to.have.nested.property("validations[0].field", "input.name");
    });
  });
});
