import { Ctx, Field, FieldResolver, Float, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { DocumentParameter } from "../../domain/templates/template-documents.js";
import { parametersOf, type VersionRow } from "../../domain/templates/template-versions.js";
import { MonotonicDirection, TemplateParameterKind } from "../../domain/templates/parameter-values.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { TemplateVersionType } from "./template-versions.js";

enumType({ TemplateParameterKind }, "The type of the values of a parameter.", {
  STRING: "Text.",
  NUMBER: "A decimal number of at most 15 digits.",
  BOOL: "`true` or `false`.",
  LIST: "A JSON array of strings.",
});

enumType({ MonotonicDirection }, "How a number may change from one build of a workspace to the next.", {
  INCREASING: "It must not become smaller.",
  DECREASING: "It must not become larger.",
});

type Option = DocumentParameter["options"][number];
type Validation = NonNullable<DocumentParameter["validation"]>;

const icon = "URL or path of an icon; may be empty.";

@ObjectType("TemplateParameterOption", { simpleResolvers: true, description: "A value that a parameter can have." })
class TemplateParameterOptionType implements Pick<Option, "name" | "value" | "description" | "icon"> {
  @Field({ description: "Name, unique within the parameter." }) name!: string;
  @Field({ description: "The value." }) value!: string;
  @Field({ description: "Description; may be empty." }) description!: string;
  @Field({ description: icon }) icon!: string;
}

@ObjectType("TemplateParameterValidation", {
  simpleResolvers: true,
  description: "Rules for the values of a parameter, besides its type and its options.",
})
class TemplateParameterValidationType implements Omit<Validation, "min" | "max" | "monotonic"> {
  @Field({ description: "Regular expression that texts must match, in RE2 syntax; empty for none." }) regex!: string;
  @Field({ description: "Message for values that violate a rule; empty for the server's own." }) error!: string;
  @Field(() => Float, { nullable: true, description: "Smallest number; null for none." }) min?: number;
  @Field(() => Float, { nullable: true, description: "Largest number; null for none." }) max?: number;
  @Field(() => MonotonicDirection, { nullable: true, description: "How a number may change; null for any way." })
  monotonic?: MonotonicDirection;
}

@ObjectType("TemplateParameter", {
  simpleResolvers: true,
  description: "A value that users enter for their workspaces, with its rules.",
})
class TemplateParameterType {
  @Field({ description: "Name, unique within the version." }) name!: string;
  @Field({ description: "Description; may be empty." }) description!: string;
  @Field({ description: icon }) icon!: string;
  @Field(() => TemplateParameterKind, { description: "The type of its values." }) type!: TemplateParameterKind;
  @Access({ countsAs: 5 })
  @Field(() => [TemplateParameterOptionType], {
    description: "The values it can have; for a list, its elements. Empty if there are no options. At most 100.",
  })
  options!: TemplateParameterOptionType[];
  @Field(() => TemplateParameterValidationType, { nullable: true, description: "Further rules; null for none." })
  validation?: TemplateParameterValidationType;
}

@Resolver(() => TemplateParameterType)
export class TemplateParametersResolver {
  @FieldResolver(() => String, { description: "Display name; may be empty." })
  displayName(@Root() { display_name: name }: DocumentParameter): string {
    return name;
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "The value where none is entered: numbers, booleans, and lists in JSON. Null if a value is required.",
  })
  defaultValue(@Root() { default: value }: DocumentParameter): string | null {
    return value ?? null;
  }

  @FieldResolver(() => Boolean, { description: "Whether its value can change after the workspace was created." })
  isMutable(@Root() { mutable }: DocumentParameter): boolean {
    return mutable;
  }

  @FieldResolver(() => Boolean, { description: "Whether a value holds for one build only." })
  isEphemeral(@Root() { ephemeral }: DocumentParameter): boolean {
    return ephemeral;
  }
}

@Resolver(() => TemplateVersionType)
export class ParametersOfVersionsResolver {
  @Access({ countsAs: 10 })
  @FieldResolver(() => [TemplateParameterType], {
    description: "The parameters, in the order of the document. At most 100. Read like the version itself.",
  })
  parameters(@Root() version: VersionRow, @Ctx() ctx: Context): Promise<DocumentParameter[]> {
    return parametersOf(ctx, version);
  }
}
