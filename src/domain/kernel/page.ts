/** A page of a list. Methods are evaluated on demand; `count` executes a statement unless the page is the whole list. */
export interface Page<Node> {
  nodes: Node[];
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  /** The opaque cursor of a node, for `after` and `before`. */
  cursor(node: Node): string;
  /**
   * The number of matching rows that the caller may read, on all pages. Lists whose counts are limited unless
   * `isExact` say so.
   */
  count(isExact?: boolean): Promise<number>;
}
