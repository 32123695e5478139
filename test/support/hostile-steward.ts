// A server whose every text is hostile: for all operations of the published schema, each String that it returns holds all
// characters and sequences that a terminal obeys. It can also report failures, and respond with something else.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as everything } from "node:stream/consumers";
import {
  buildSchema,
  execute,
  getNullableType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  isAbstractType,
  isEnumType,
  isListType,
  isObjectType,
  parse,
  subscribe,
} from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { WebSocketServer } from "ws";

const schema = buildSchema(readFileSync("schema.graphql", "utf8"));

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, nr) => String.fromCharCode(first + nr));

/** The characters that no label may have, and no terminal and no page may get from others (conventions, section 1). */
export const controls: readonly string[] = [
  ...range(0x00, 0x1f),
  ...range(0x7f, 0x9f),
  ...range(0x2028, 0x202e),
  ...range(0x2066, 0x2069),
];

/** A text with all of them, and with sequences that move the cursor, clear, rename, link, and color. */
export const hostile = [
  "<",
  ...controls.map((each) => `a${each}`),
  "\u001b[2J\u001b[1;1H\u009b2J\u001b]0;title\u0007\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\",
  "\u001b[31mred\u001b[0m\u001b[8mhidden\u001b(0\u001bc\u001bP1$r\u001b\\",
  ">",
].join("");

/** Values by the name of an enum, an abstract type, or `Type.field`. */
export type Values = Record<string, unknown>;

const usual: Values = {
  ProvisionerJobStatus: "SUCCEEDED",
  TaskStatus: "ACTIVE",
  ConversationState: "REQUIRES_ACTION",
  InboxEvent: "InboxNotificationAdded",
  "PageInfo.hasNextPage": false,
  "PermissionPart.optionId": null,
  "PermissionPart.isCanceled": false,
  "ProvisionerJob.error": hostile,
};

/** One event, after which the subscription is complete. */
async function* oneEvent(_: unknown, __: unknown, ___: unknown, { fieldName }: GraphQLResolveInfo) {
  yield await Promise.resolve({ [fieldName]: undefined });
}

export class HostileSteward {
  /** Values in place of the usual ones; functions make a value each time. */
  values: Values = {};
  /** The body of each response in place of the result of the operation. */
  respond: ((query: string) => string) | undefined;
  /** Handles requests other than those of GraphQL. */
  other: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #sockets = new WebSocketServer({ server: this.#server, path: "/graphql" });

  static async open(): Promise<HostileSteward> {
    const steward = new HostileSteward();
    steward.#server.listen(0, "127.0.0.1");
    await once(steward.#server, "listening");
    const resolvers = {
      fieldResolver: steward.#resolve,
      typeResolver: ({ __typename }: Values) => __typename as string,
    };
    useServer(
      {
        schema,
        execute: (args) => execute({ ...args, ...resolvers }),
        subscribe: (args) => subscribe({ ...args, ...resolvers, subscribeFieldResolver: oneEvent }),
      },
      steward.#sockets,
    );
    return steward;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await everything(request);
    if (request.url !== "/graphql") {
      if (this.other) return this.other(request, response);
      response.statusCode = 404;
      return void response.end();
    }
    const { query, variables } = JSON.parse(body) as { query: string; variables: Record<string, unknown> };
    response.setHeader("Content-Type", "application/json");
    if (this.respond) return void response.end(this.respond(query));
    const resolvers = { fieldResolver: this.#resolve, typeResolver: ({ __typename }: Values) => __typename as string };
    const result = await execute({ schema, document: parse(query), variableValues: variables, ...resolvers });
    response.end(JSON.stringify(result));
  }

  #resolve = (_: unknown, __: unknown, ___: unknown, { fieldName, parentType, returnType }: GraphQLResolveInfo) => {
    const given = this.#given(`${parentType.name}.${fieldName}`);
    return given === undefined ? this.#valueOf(returnType) : given;
  };

  #given(name: string): unknown {
    const value = name in this.values ? this.values[name] : usual[name];
    return typeof value === "function" ? (value as () => unknown)() : value;
  }

  #valueOf(declared: GraphQLOutputType): unknown {
    const type = getNullableType(declared);
    if (isListType(type)) {
      const item = getNullableType(type.ofType);
      if (isAbstractType(item)) return schema.getPossibleTypes(item).map(({ name }) => ({ __typename: name }));
      return [this.#valueOf(item)];
    }
    if (isAbstractType(type)) return { __typename: this.#given(type.name) ?? schema.getPossibleTypes(type)[0]!.name };
    if (isObjectType(type)) return { __typename: type.name };
    if (isEnumType(type)) return this.#given(type.name) ?? type.getValues()[0]!.value;
    if (type.name === "String") return hostile;
    if (type.name === "Boolean") return true;
    if (["Int", "Float", "BigInt"].includes(type.name)) return 1;
    if (type.name === "DateTime") return "2026-01-02T03:04:05.678Z";
    if (type.name === "UUID") return randomUUID();
    return type.name === "JSONObject" ? { [hostile]: hostile } : hostile;
  }
}
