// All that the program offers: its GraphQL schema, the rows of its REST interface, and the scopes.
// Looks inside: tests that go through everything take the list from the program, or they would miss what is new.
export { scopeCatalog } from "../../src/domain/authorization/authorization.js";
export { getSchema } from "../../src/graphql/schema.js";
export { areas, describedProtocols } from "../../src/rest/index.js";
