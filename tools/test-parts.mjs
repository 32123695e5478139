// The two parts of the tests: those that `npm test` runs, and the rest.

/** The files of each part, as patterns. */
export const parts = {
  first: ["test/{,inside/}*.test.ts", "test/contract/*.test.ts"],
  rest: ["test/{rest,console,tools}/{,inside/}*.test.ts"],
};

/** Whether a file, folder, or pattern is of the rest, which needs the compiled programs, a browser, and tools of others. */
export const isOfRest = (path) => /^(\.\/)?test\/(rest|console|tools|\*\*)(\/|$)/.test(path);
