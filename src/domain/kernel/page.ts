/** A stretch of a longer list, read by key. What costs a statement of its own is asked for by calling. */
export interface Page<Node> {
  nodes: Node[];
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  /** An opaque text that marks the place of a node, for `after` and `before`. */
  cursor(node: Node): string;
  /** How many rows the caller may see that match, whatever the page. */
  count(): Promise<number>;
}
