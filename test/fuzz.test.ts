// A tenth of the random requests. `test/rest/fuzz.test.ts` sends all of them.
import { testRandomRequests } from "./support/fuzz.js";

testRandomRequests(0.1);
