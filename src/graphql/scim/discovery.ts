import { Arg, Ctx, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  listScimResourceTypes,
  listScimSchemas,
  readScimResourceType,
  readScimSchema,
  readServiceProviderConfig,
} from "../../domain/scim/discovery.js";
import { Access } from "../engine/access.js";
import { JSONObject } from "../engine/scalars.js";

const filterNote = { nullable: true, description: "Not supported: any value is FORBIDDEN." } as const;

@Resolver()
export class ScimDiscoveryResolver {
  @Access({ open: true })
  @Query(() => JSONObject, { description: "Returns what the SCIM service supports (RFC 7643, section 5)." })
  scimServiceProviderConfig(@Ctx() ctx: Context): Record<string, unknown> {
    return readServiceProviderConfig(ctx);
  }

  @Access({ open: true })
  @Query(() => JSONObject, { description: "Lists the SCIM schemas as a ListResponse (RFC 7643, section 7)." })
  scimSchemas(
    @Arg("filter", () => String, filterNote) filter: string | undefined,
    @Ctx() ctx: Context,
  ): Record<string, unknown> {
    return listScimSchemas(ctx, filter);
  }

  @Access({ open: true })
  @Query(() => JSONObject, { nullable: true, description: "Returns a SCIM schema." })
  scimSchema(
    @Arg("urn", { description: "URN of the schema." }) urn: string,
    @Ctx() ctx: Context,
  ): Record<string, unknown> {
    return readScimSchema(ctx, urn);
  }

  @Access({ open: true })
  @Query(() => JSONObject, {
    description: "Lists the types of SCIM resources as a ListResponse (RFC 7643, section 6).",
  })
  scimResourceTypes(
    @Arg("filter", () => String, filterNote) filter: string | undefined,
    @Ctx() ctx: Context,
  ): Record<string, unknown> {
    return listScimResourceTypes(ctx, filter);
  }

  @Access({ open: true })
  @Query(() => JSONObject, { nullable: true, description: "Returns a type of SCIM resources." })
  scimResourceType(
    @Arg("name", { description: "Name of the type: `User` or `Group`." }) name: string,
    @Ctx() ctx: Context,
  ): Record<string, unknown> {
    return readScimResourceType(ctx, name);
  }
}
