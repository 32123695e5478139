// All random documents.
import { testVariables } from "../support/variables.js";

testVariables(1000);
