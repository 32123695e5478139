// Free ports, found as the program finds them: below those of outgoing connections, so that no test takes another's.
export { freePort } from "../../src/runtime/ports.js";
