// A thirtieth of the random requests. `test/rest/fuzz.test.ts` sends all of them.
import { testRandomRequests } from "./support/fuzz.js";

testRandomRequests(1 / 30);
