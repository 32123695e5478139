// All that the program offers: its GraphQL schema, the rows of its REST interface, the scopes, and the notifications.
// Looks inside: tests that go through everything take the list from the program, or they would miss what is new.
export { covers, scopeCatalog } from "../../src/domain/authorization/authorization.js";
export { templates as notificationTemplates } from "../../src/domain/notifications/templates/all-templates.js";
export { getSchema } from "../../src/graphql/schema.js";
export { areas, describedProtocols } from "../../src/rest/index.js";
export { plainRoutes } from "../../src/rest/plain-routes.js";
