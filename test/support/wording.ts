// The words that this project avoids, and a scanner that finds them in prose: comments, messages, and documents.

/** A text to avoid, what to write instead, and where it is right all the same, with the reason. */
interface Avoided {
  pattern: RegExp;
  instead: string;
  /** Text around a match that makes it legitimate. */
  except?: { pattern: RegExp; reason: string };
}

const avoid = (pattern: RegExp, instead: string, except?: Avoided["except"]): Avoided => ({ pattern, instead, except });

// oxfmt-ignore
const avoided: readonly Avoided[] = [
  // British spelling.
  avoid(/\w*organis(?:e|ing|ation)\w*/gi,                                       "organiz-"),
  avoid(/\b(?:author|categor|custom|final|general|initial|maxim|minim|normal|optim|parallel|priorit|recogn|serial|summar|synchron|util)is(?:e|ing|ation)\w*/gi, "-ize"),
  avoid(/\banalys(?:e[ds]?|ing)\b/gi,                                           "analyze"),
  avoid(/\blicen[c]e[ds]?\b/gi,                                                 "license"),
  avoid(/\bbehaviours?\b/gi,                                                    "behavior"),
  avoid(/\bcolour\w*/gi,                                                        "color"),
  avoid(/\bfavour\w*/gi,                                                        "favor"),
  avoid(/\bcatalogue\w*/gi,                                                     "catalog"),
  avoid(/\bcentred?\b/gi,                                                       "center"),
  avoid(/\b(?:whilst|amongst)\b/gi,                                             "while, among"),
  avoid(/\bfor ever\b/gi,                                                       "indefinitely, forever"),

  // People and programs.
  avoid(/\bwho(?:so)?(?:m)?ever\b/gi,                                           "the caller, anyone who"),
  avoid(/\bsomebody(?: else)?\b/gi,                                             "a user, another user"),
  avoid(/\b(?:nobody|nobodies)\b/gi,                                            "no user, no caller, an anonymous caller",
        { pattern: /["`]nobody["`]/, reason: "the system account of that name" }),
  avoid(/\b(?:any|every)body\b/gi,                                              "anyone, all users"),

  // Requests and responses.
  avoid(/\banswer(?:s|ed|ing)?\b/gi,                                            "response, respond, return, result"),
  avoid(/\basked for\b/gi,                                                      "requested, selected"),
  avoid(/\b(?:is|are) meant\b(?! (?:for|to)\b)/gi,                              "matches, selects"),
  avoid(/\b(?:patience|farewell)\b/gi,                                          "timeout, shutdown timeout"),
  avoid(/\berrands?\b/gi,                                                      "background task"),
  avoid(/\b(?:tally|tallies|roster)\b/gi,                                      "counter, list"),
  avoid(/\bfacts?\b/gi,                                                         "details, request data"),
  avoid(/\brefuse[sd]?\b(?! to\b)/gi,                                           "reject, fail",
        { pattern: /connection refused|address refused/i, reason: "texts of an error and of a health report" }),
  avoid(/\btells? of\b/gi,                                                      "report, list"),
  avoid(/\bsigns? of life\b/gi,                                                 "heartbeat, keep-alive"),
  avoid(/\bgoodbyes?\b/gi,                                                      "shutdown, close"),
  avoid(/\be-mails?\b/gi,                                                       "email"),

  // Time and state.
  avoid(/\bat once\b/gi,                                                        "immediately, concurrently, at a time"),
  avoid(/\bin no time\b/gi,                                                     "quickly, without waiting"),
  avoid(/\bgo(?:es)? round\b/gi,                                                "bypass, circulate"),
  avoid(/\banew\b/gi,                                                           "again, new"),
  avoid(/\bas (?:it was|they were)\b/gi,                                        "unchanged, before the change"),
  avoid(/\bshall\b/gi,                                                          "must, will"),
];

export interface Prose {
  line: number;
  text: string;
}

const regex = /(?<=[(,=:[!&|?{;]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//;
const pieces = new RegExp(
  [/\/\*[^]*?\*\//, /\/\/[^\n]*/, /"(?:\\.|[^"\\\n])*"/, /'(?:\\.|[^'\\\n])*'/, /`(?:\\.|[^`\\])*`/, regex]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

/** The comments of a program and its strings of several words: messages, descriptions, and names of tests. */
const proseOfProgram = (source: string): Prose[] =>
  [...source.matchAll(pieces)]
    .filter(([piece]) =>
      /^\/[/*]/.test(piece) ? !/^\/\/ ox\w+-/.test(piece) : /^["'`]/.test(piece) && / /.test(piece),
    )
    .flatMap(({ 0: piece, index }) => {
      const first = source.slice(0, index).split("\n").length;
      return piece.split("\n").map((text, offset) => ({ line: first + offset, text: withoutCode(text) }));
    });

/** Names in backticks and expressions in templates are code. */
const withoutCode = (text: string): string =>
  text.replace(/\$\{[^}]*\}/g, "…").replace(/(?<=.)`[^`\s]+`/g, (name) => (name === "`nobody`" ? name : "…"));

const proseOfLines = (source: string, isProse: (line: string) => boolean): Prose[] =>
  source
    .split("\n")
    .map((text, index) => ({ line: index + 1, text }))
    .filter(({ text }) => isProse(text));

/** A Markdown document without its blocks of code. */
const proseOfDocument = (source: string): Prose[] =>
  proseOfLines(
    source.replace(/^```[^]*?^```/gm, (block) => block.replace(/[^\n]/g, "")),
    () => true,
  ).map(({ line, text }) => ({ line, text: text.replace(/`[^`]+`/g, "…") }));

/** The prose of a file, by line. */
function proseOf(path: string, source: string): Prose[] {
  if (path.endsWith(".md")) return proseOfDocument(source);
  if (path.endsWith(".graphql")) return proseOfLines(source, (text) => /^\s*#/.test(text));
  return proseOfProgram(source);
}

/** Lists the avoided words in the prose of a file: `path:line: "word", write: suggestion`. */
export const avoidedWords = (path: string, source: string): string[] =>
  proseOf(path, source).flatMap(({ line, text }) =>
    avoided.flatMap(({ pattern, instead, except }) =>
      except?.pattern.test(text)
        ? []
        : [...text.matchAll(pattern)].map(([word]) => `${path}:${line}: "${word}", write: ${instead}`),
    ),
  );
