// The first part of the access matrix.
import { testAccess } from "./support/access-matrix.js";

testAccess("first");
