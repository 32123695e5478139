import type { Services } from "../domain/kernel/context.js";
import { documentJsonSchema, documentSchemaPath } from "../domain/templates/template-documents.js";
import type { Routes } from "../http/routes.js";

/** Registers the JSON Schema of template documents, which editors fetch without a credential. */
export function routeDocumentSchemas(routes: Routes, { config }: Pick<Services, "config">): void {
  let body: string | undefined;
  const write = () => {
    const { $schema, ...schema } = documentJsonSchema();
    return JSON.stringify({ $schema, $id: `${config.accessUrl}${documentSchemaPath}`, ...schema }, null, 2);
  };
  routes.of(documentSchemaPath).get(documentSchemaPath, (http) => {
    http.type = "application/schema+json";
    http.body = body ??= write();
  });
}
