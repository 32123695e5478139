import type { Values } from "./evaluate.js";

const urnOf = (name: string) => `urn:ietf:params:scim:api:messages:2.0:${name}`;

interface Page {
  totalResults: number;
  /** Absent for pages by cursor. */
  startIndex?: number;
  nextCursor?: string;
  resources: Values[];
}

/** A page of resources (RFC 7644 §3.4.2). */
export const listResponse = ({ resources, ...page }: Page): Values => ({
  schemas: [urnOf("ListResponse")],
  ...page,
  itemsPerPage: resources.length,
  Resources: resources,
});

interface Failure {
  status: number;
  scimType?: string | undefined;
  detail: string;
}

/** A failure (RFC 7644 §3.12). */
export const errorMessage = ({ status, scimType, detail }: Failure): Values => ({
  schemas: [urnOf("Error")],
  status: String(status),
  ...(scimType !== undefined && { scimType }),
  detail,
});

/** The results of a bulk request (RFC 7644 §3.7). */
export const bulkResponse = (operations: Values[]): Values => ({
  schemas: [urnOf("BulkResponse")],
  Operations: operations,
});
