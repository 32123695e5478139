// Free ports.
// Looks inside: finds them as the program does, so that none is taken by an outgoing connection.
export { freePort } from "../../src/runtime/ports.js";
