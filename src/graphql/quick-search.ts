import { Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { mostOfKind, QuickSearch, searchByName, SearchKind, type SearchResult } from "../domain/quick-search.js";
import { Access } from "./engine/access.js";
import { enumType } from "./engine/declarations.js";
import { argumentsOf } from "./engine/inputs.js";
import { UUID } from "./engine/scalars.js";

enumType({ SearchKind }, "A kind of objects that are found by their names.", {
  WORKSPACE: "A workspace.",
  TASK: "A task.",
  TEMPLATE: "A template.",
  USER: "A user.",
  GROUP: "A group.",
  APPLICATION: "An OAuth2 application.",
});

@ObjectType("SearchResult", { simpleResolvers: true, description: "An object that a search by name found." })
class SearchResultType implements SearchResult {
  @Field(() => SearchKind, { description: "Kind of the object." }) kind!: SearchKind;
  @Field(() => UUID, { description: "ID of the object." }) id!: string;
  @Field({ description: "Name of the object; the username of a user." }) name!: string;
  @Field({ description: "Display name of the object, or the real name of a user; may be empty." })
  displayName!: string;
  @Field(() => String, { nullable: true, description: "Username of the owner of a workspace or task." })
  ownerName!: string | null;
  @Field(() => String, {
    nullable: true,
    description: "Display name of the organization of a workspace, task, template, or group.",
  })
  organizationName!: string | null;
}

const QuickSearchArgs = argumentsOf(QuickSearch);

@Resolver()
export class QuickSearchResolver {
  @Access({ anyScope: true, countsAs: mostOfKind * Object.keys(SearchKind).length })
  @Query(() => [SearchResultType], {
    description: `Finds objects by a part of their name, of all kinds that the caller may list and that the scopes of the credential cover: at most ${mostOfKind} of each kind. Names that begin with the text come first.`,
  })
  search(@Args(() => QuickSearchArgs) query: QuickSearch, @Ctx() ctx: Context): Promise<SearchResult[]> {
    return searchByName(ctx, query);
  }
}
