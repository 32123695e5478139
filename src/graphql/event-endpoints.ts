import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import {
  CreateEventEndpoint,
  createEventEndpoint,
  CreateEventEndpointSecret,
  createEventEndpointSecret,
  DeleteEventEndpoint,
  deleteEventEndpoint,
  DeleteEventEndpointSecret,
  deleteEventEndpointSecret,
  UpdateEventEndpoint,
  updateEventEndpoint,
} from "../domain/event-endpoints/endpoint-changes.js";
import {
  deliveriesById,
  deliveriesOf,
  type EventAttempt,
  EventDeliveriesQuery,
  type EventDeliveryRow,
  EventDeliveryState,
  findEventDelivery,
  RedeliverEvent,
  redeliverEvent,
  RedeliverEvents,
  redeliverEvents,
  TestEventEndpoint,
  testEventEndpoint,
} from "../domain/event-endpoints/event-deliveries.js";
import {
  endpointsById,
  type EventEndpointRow,
  type EventEndpointSecretRow,
  EventEndpointsQuery,
  EventEndpointState,
  findEventEndpoint,
  listEventEndpoints,
  mostQueued,
  queuedCounts,
  secretsByEndpoint,
} from "../domain/event-endpoints/event-endpoints.js";
import { eventTypes } from "../domain/event-endpoints/event-types.js";
import type { Context } from "../domain/kernel/context.js";
import { mostCounted } from "../domain/kernel/lists.js";
import type { Page } from "../domain/kernel/paging.js";
import { type OrganizationRow, organizationsById } from "../domain/organizations/organizations.js";
import { type UserRow, usersById } from "../domain/users/users.js";
import { Access } from "./engine/access.js";
import { enumType, Mutates } from "./engine/declarations.js";
import { argumentsOf, inputType } from "./engine/inputs.js";
import { connectionOf } from "./engine/lists.js";
import { DateTime, JSONObject, UUID } from "./engine/scalars.js";
import { OrganizationType } from "./organizations/organizations.js";
import { PublicUserType } from "./users/users.js";

enumType({ EventEndpointState }, "How an event endpoint receives events.", {
  ACTIVE: "Events are delivered.",
  PAUSED: "An administrator paused it. Its events wait.",
  DISABLED: "It failed for three days, or said that it is gone. Its events wait.",
  UNATTENDED: "Its maker may not read the audit log of the organization any more. Its events wait for another maker.",
});

enumType({ EventDeliveryState }, "How far a delivery of an event is.", {
  PENDING: "It was not delivered yet, and is tried again.",
  DELIVERED: "The endpoint accepted it.",
  FAILED: "It is not tried again.",
});

@ObjectType("EventDefinition", { simpleResolvers: true, description: "A type of events that endpoints can receive." })
class EventDefinitionType {
  @Field({ description: "Its name, such as `group.update`." }) name!: string;
  @Field({ description: "The event in a sentence." }) description!: string;
  @Field(() => Int, { description: "Version of the form of its events." }) version!: number;
  @Field(() => JSONObject, { description: "JSON Schema of its events." }) schema!: Record<string, unknown>;
  @Field(() => JSONObject, { description: "An event of this type." }) example!: object;
}

@Access({ readWith: "event_endpoint:read" })
@ObjectType("EventEndpointSecret", {
  simpleResolvers: true,
  description: "A secret that signs the events of an endpoint. Its text is returned only when it is created.",
})
class EventEndpointSecretType implements Omit<EventEndpointSecretRow, "endpointId"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field({ description: "Its last four characters." }) suffix!: string;
}

@Access({ readWith: "event_endpoint:read", references: ["id", "name"] })
@ObjectType("EventEndpoint", {
  simpleResolvers: true,
  description: "A URL to which the events of an organization are posted.",
})
class EventEndpointType implements Omit<
  EventEndpointRow,
  "organizationId" | "makerId" | "position" | "notifiedPosition" | "failures"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name, unique in the organization." }) name!: string;
  @Field({ description: "The URL." }) url!: string;
  @Field(() => [String], { description: "Types and patterns of the events that it receives. Empty: all." })
  eventTypes!: string[];
  @Field({ description: "Whether its events have no names and no changes, only IDs." }) isThin!: boolean;
  @Field(() => EventEndpointState, { description: "How it receives events." }) state!: EventEndpointState;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last changed." }) updatedAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it last accepted an event, accurate to some seconds." })
  deliveredAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "Since when all attempts failed; null if the last one did not.",
  })
  failingSince!: string | null;
  @Field({ description: "Why the last attempt failed; empty if it did not." }) lastFailure!: string;
}

const EventEndpointConnection = connectionOf("EventEndpoint", () => EventEndpointType);

@Access({ readWith: "event_endpoint:read" })
@ObjectType("EventAttempt", { simpleResolvers: true, description: "An attempt to deliver an event." })
class EventAttemptType implements EventAttempt {
  @Field(() => DateTime, { description: "When it began." }) time!: string;
  @Field(() => Int, { description: "How long it took, in milliseconds." }) duration!: number;
  @Field(() => Int, { nullable: true, description: "Status of the response; null if there was none." })
  status!: number | null;
  @Field({ description: "The beginning of the response, at most 512 characters." }) excerpt!: string;
  @Field(() => String, { nullable: true, description: "Why it failed; null if it did not." }) failure!: string | null;
}

@Access({ readWith: "event_endpoint:read", references: ["id"] })
@ObjectType("EventDelivery", {
  simpleResolvers: true,
  description: "An event on its way to an endpoint. Kept for a week after its end, the latest 50,000 of each endpoint.",
})
class EventDeliveryType implements Omit<EventDeliveryRow, "endpointId" | "number" | "log"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => UUID, { description: "ID of the event, and of the messages that have it: their `webhook-id`." })
  eventId!: string;
  @Field({ description: "Type of the event; `event_endpoint.test` for a test." }) type!: string;
  @Field(() => EventDeliveryState, { description: "How far it is." }) state!: EventDeliveryState;
  @Field(() => Int, { description: "Number of attempts." }) attempts!: number;
  @Field(() => DateTime, { description: "When it was queued." }) createdAt!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When it is tried next; null if it is not, or is being tried.",
  })
  nextAttemptAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When it was delivered, or failed for good." })
  finishedAt!: string | null;
}

const EventDeliveryConnection = connectionOf("EventDelivery", () => EventDeliveryType, { most: mostCounted });

const EventEndpointsArgs = argumentsOf(EventEndpointsQuery);
const EventDeliveriesArgs = argumentsOf(EventDeliveriesQuery);
const CreateEventEndpointInput = inputType("CreateEventEndpointInput", CreateEventEndpoint);
const UpdateEventEndpointInput = inputType("UpdateEventEndpointInput", UpdateEventEndpoint, {
  description: "Input of `updateEventEndpoint`. Fields that are omitted or null keep their value.",
});
const DeleteEventEndpointInput = inputType("DeleteEventEndpointInput", DeleteEventEndpoint);
const CreateEventEndpointSecretInput = inputType("CreateEventEndpointSecretInput", CreateEventEndpointSecret);
const DeleteEventEndpointSecretInput = inputType("DeleteEventEndpointSecretInput", DeleteEventEndpointSecret);
const TestEventEndpointInput = inputType("TestEventEndpointInput", TestEventEndpoint);
const RedeliverEventInput = inputType("RedeliverEventInput", RedeliverEvent);
const RedeliverEventsInput = inputType("RedeliverEventsInput", RedeliverEvents);

const changedEndpoint = {
  eventEndpoint: { type: () => EventEndpointType, description: "The endpoint after the change.", covers: "everything" },
} as const;
const changedDelivery = {
  eventDelivery: { type: () => EventDeliveryType, description: "The delivery, which is queued.", covers: "everything" },
} as const;

/** The payload of a mutation that changes an endpoint, which is read if selected. */
const readChangedEndpoint = (ctx: Context, id: string) => ({ eventEndpoint: () => ctx.load(endpointsById, id) });
const readChangedDelivery = (ctx: Context, id: string) => ({ eventDelivery: () => ctx.load(deliveriesById, id) });

/** Who makes an endpoint sends the audit log elsewhere, for longer than an access token lasts. */
const toMake = { needs: ["event_endpoint:create", "audit_log:read"], openTo: ["session", "token"] } as const;
const toChange = { needs: ["event_endpoint:update", "audit_log:read"], openTo: ["session", "token"] } as const;

@Resolver(() => EventEndpointType)
export class EventEndpointsResolver {
  @Access({ anyScope: true, countsAs: 50 })
  @Query(() => [EventDefinitionType], {
    description: "Lists the types of events that endpoints can receive, by resource.",
  })
  eventTypes(): EventDefinitionType[] {
    return [...eventTypes.values()];
  }

  @Access({ needs: ["event_endpoint:read"] })
  @Query(() => EventEndpointType, { nullable: true, description: "Returns an event endpoint." })
  eventEndpoint(
    @Arg("id", () => UUID, { description: "ID of the endpoint." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<EventEndpointRow> {
    return findEventEndpoint(ctx, id);
  }

  @Access({ needs: ["event_endpoint:read"] })
  @Query(() => EventEndpointConnection, {
    description: "Lists the event endpoints that the caller may read, by name and ID.",
  })
  eventEndpoints(
    @Args(() => EventEndpointsArgs) args: EventEndpointsQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<EventEndpointRow>> {
    return listEventEndpoints(ctx, args);
  }

  @Access({ needs: ["event_endpoint:read"] })
  @Query(() => EventDeliveryType, { nullable: true, description: "Returns a delivery of an event." })
  eventDelivery(
    @Arg("id", () => UUID, { description: "ID of the delivery." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<EventDeliveryRow> {
    return findEventDelivery(ctx, id);
  }

  @FieldResolver(() => OrganizationType, { description: "Organization whose events it receives." })
  organization(
    @Root() { organizationId }: EventEndpointRow,
    @Ctx() ctx: Context,
  ): Promise<OrganizationRow | undefined> {
    return ctx.load(organizationsById, organizationId);
  }

  @FieldResolver(() => PublicUserType, {
    nullable: true,
    description: "The user who changed it last, whose rights it has.",
  })
  maker(@Root() { makerId }: EventEndpointRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, makerId);
  }

  @Access({ countsAs: 5 })
  @FieldResolver(() => [EventEndpointSecretType], { description: "Its secrets, oldest first. All of them sign." })
  secrets(@Root() { id }: EventEndpointRow, @Ctx() ctx: Context): Promise<EventEndpointSecretRow[]> {
    return ctx.load(secretsByEndpoint, id);
  }

  @FieldResolver(() => Int, {
    description: `Number of events that wait to be delivered, at most ${mostQueued}: further ones wait in the audit log.`,
  })
  queuedCount(@Root() { id }: EventEndpointRow, @Ctx() ctx: Context): Promise<number> {
    return ctx.load(queuedCounts, id);
  }

  @FieldResolver(() => EventDeliveryConnection, { description: "The deliveries of its events, the latest first." })
  deliveries(
    @Root() endpoint: EventEndpointRow,
    @Args(() => EventDeliveriesArgs) args: EventDeliveriesQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<EventDeliveryRow>> {
    return deliveriesOf(ctx, endpoint, args);
  }

  @Access(toMake)
  @Mutates("Creates an event endpoint, which receives what is recorded from now on.", {
    ...changedEndpoint,
    secret: { type: () => String, description: "The secret that signs its events. It is not returned again." },
  })
  async createEventEndpoint(
    @Arg("input", () => CreateEventEndpointInput, { description: "The new endpoint." }) input: CreateEventEndpoint,
    @Ctx() ctx: Context,
  ) {
    const { id, secret } = await createEventEndpoint(ctx, input);
    return { ...readChangedEndpoint(ctx, id), secret };
  }

  @Access(toChange)
  @Mutates(
    "Changes, pauses, or resumes an event endpoint. From then on, it has the rights of the caller.",
    changedEndpoint,
  )
  async updateEventEndpoint(
    @Arg("input", () => UpdateEventEndpointInput, { description: "The changes." }) input: UpdateEventEndpoint,
    @Ctx() ctx: Context,
  ) {
    return readChangedEndpoint(ctx, await updateEventEndpoint(ctx, input));
  }

  @Access({ needs: ["event_endpoint:delete"] })
  @Mutates("Deletes an event endpoint with the log of its deliveries.", {
    eventEndpoint: { type: () => EventEndpointType, description: "The deleted endpoint.", covers: ["id", "name"] },
  })
  async deleteEventEndpoint(
    @Arg("input", () => DeleteEventEndpointInput, { description: "The endpoint." }) input: DeleteEventEndpoint,
    @Ctx() ctx: Context,
  ) {
    return { eventEndpoint: await deleteEventEndpoint(ctx, input) };
  }

  @Access(toChange)
  @Mutates(
    "Adds a secret to an event endpoint. Until it is deleted, it signs beside the others, so that receivers can change to it.",
    {
      secret: { type: () => EventEndpointSecretType, description: "The secret.", covers: "everything" },
      text: { type: () => String, description: "Its text. It is not returned again." },
    },
  )
  createEventEndpointSecret(
    @Arg("input", () => CreateEventEndpointSecretInput, { description: "The endpoint." })
    input: CreateEventEndpointSecret,
    @Ctx() ctx: Context,
  ) {
    return createEventEndpointSecret(ctx, input);
  }

  @Access({ needs: ["event_endpoint:update"], openTo: ["session", "token"] })
  @Mutates("Deletes a secret of an event endpoint, which has to have another one.", changedEndpoint)
  async deleteEventEndpointSecret(
    @Arg("input", () => DeleteEventEndpointSecretInput, { description: "The secret." })
    input: DeleteEventEndpointSecret,
    @Ctx() ctx: Context,
  ) {
    return readChangedEndpoint(ctx, await deleteEventEndpointSecret(ctx, input));
  }

  @Access({ needs: ["event_endpoint:update"] })
  @Mutates("Sends a message without an event to an endpoint, once.", changedDelivery)
  async testEventEndpoint(
    @Arg("input", () => TestEventEndpointInput, { description: "The endpoint." }) input: TestEventEndpoint,
    @Ctx() ctx: Context,
  ) {
    return readChangedDelivery(ctx, await testEventEndpoint(ctx, input));
  }

  @Access({ needs: ["event_endpoint:update", "audit_log:read"] })
  @Mutates("Sends an event again, with the same ID.", changedDelivery)
  async redeliverEvent(
    @Arg("input", () => RedeliverEventInput, { description: "The delivery." }) input: RedeliverEvent,
    @Ctx() ctx: Context,
  ) {
    return readChangedDelivery(ctx, await redeliverEvent(ctx, input));
  }

  @Access({ needs: ["event_endpoint:update", "audit_log:read"] })
  @Mutates("Sends the events of a period again that an endpoint selects, with the same IDs.", {
    ...changedEndpoint,
    count: { type: () => Int, description: "Number of events." },
  })
  async redeliverEvents(
    @Arg("input", () => RedeliverEventsInput, { description: "The period." }) input: RedeliverEvents,
    @Ctx() ctx: Context,
  ) {
    const { id, count } = await redeliverEvents(ctx, input);
    return { ...readChangedEndpoint(ctx, id), count };
  }
}

@Resolver(() => EventDeliveryType)
export class EventDeliveriesResolver {
  @FieldResolver(() => Int, {
    nullable: true,
    description: "The number of the event in the audit log, by which events are ordered; null for a test.",
  })
  sequence(@Root() { number }: EventDeliveryRow): number | null {
    return number;
  }

  @Access({ countsAs: 20 })
  @FieldResolver(() => [EventAttemptType], { description: "The last 20 attempts, oldest first." })
  log(@Root() { log }: EventDeliveryRow): readonly EventAttempt[] {
    return log;
  }
}
