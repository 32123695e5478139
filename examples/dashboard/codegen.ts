import type { CodegenConfig } from "@graphql-codegen/cli";

// Outside of this repository, the schema is a copy of the file, or the URL of a server.
const config: CodegenConfig = {
  schema: "../../schema.graphql",
  documents: ["src/**/*.{ts,tsx}", "!src/gql/**"],
  silent: true,
  emitLegacyCommonJSImports: false,
  generates: {
    "src/gql/": {
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        useTypeImports: true,
        strictScalars: true,
        enumsAsTypes: true,
        scalars: {
          BigInt: "number",
          DateTime: "string",
          EmailAddress: "string",
          JSONObject: "Record<string, unknown>",
          URL: "string",
          UUID: "string",
        },
      },
    },
  },
};

export default config;
