import type { Services } from "../domain/kernel/context.js";
import { providersJsonSchema, providersSchemaPath } from "../domain/sign-in/declared-providers.js";
import { documentJsonSchema, documentSchemaPath } from "../domain/templates/template-documents.js";
import type { Routes } from "../http/routes.js";

const schemas = { [documentSchemaPath]: documentJsonSchema, [providersSchemaPath]: providersJsonSchema };

/** Registers the JSON Schemas of template documents and of the file of providers, which editors fetch without a credential. */
export function routeDocumentSchemas(routes: Routes, { config }: Pick<Services, "config">): void {
  for (const [path, schemaOf] of Object.entries(schemas)) {
    let body: string | undefined;
    const write = () => {
      const { $schema, ...schema } = schemaOf();
      return JSON.stringify({ $schema, $id: `${config.accessUrl}${path}`, ...schema }, null, 2);
    };
    routes.of(path).get(path, (http) => {
      http.type = "application/schema+json";
      http.body = body ??= write();
    });
  }
}
