// Permissions, each tried by a few callers.
import { testPermissions } from "./support/permissions.js";

testPermissions("first");
