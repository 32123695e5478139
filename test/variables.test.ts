// A tenth of the random documents. `test/rest/variables.test.ts` has all of them.
import { testVariables } from "./support/variables.js";

testVariables(100);
