// Permissions, each tried by all callers.
import { testPermissions } from "../support/permissions.js";

testPermissions("rest");
