import { anyText, moment, oneOf, parseSearch, uuid } from "../kernel/search.js";
import { ConnectionType } from "./connections.js";

const keys = {
  organization: anyText,
  workspace_owner: anyText,
  workspace_owner_email: anyText,
  username: anyText,
  user_email: anyText,
  type: oneOf(...Object.values(ConnectionType)),
  status: oneOf("ongoing", "completed"),
  connected_after: moment,
  connected_before: moment,
  workspace_id: uuid,
  connection_id: uuid,
};

type Values = { [Key in keyof typeof keys]: NonNullable<ReturnType<(typeof keys)[Key]["read"]>> };

/** The filters of a search. All keys must match, each by any of its values. Absent keys match everything. */
export type ConnectionSearch = { [Key in keyof Values]?: Array<Values[Key]> };

/** Parses a search query. Throws all faults together. */
export function readConnectionSearch(q: string | null | undefined): ConnectionSearch {
  const { terms } = parseSearch(q ?? "", keys, "Invalid connection search query.", { isKeyed: true });
  return Object.fromEntries(Object.entries(terms).map(([key, [values]]) => [key, values]));
}
