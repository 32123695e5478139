// The rest of the access matrix, and the rule of dominance.
import { testAccess } from "../support/access-matrix.js";

testAccess("rest");
