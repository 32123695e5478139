// All random requests.
import { testRandomRequests } from "../support/fuzz.js";

testRandomRequests(1);
