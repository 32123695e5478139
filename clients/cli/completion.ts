// Completion of commands and options in shells, by scripts that are made from the declarations of the commands.
import { command, UsageError } from "./command.js";
import { type Commands, groupOf } from "./command-names.js";

/** Words that may follow what is typed: the name of a group, or of a command. */
interface Following {
  typed: string;
  words: readonly string[];
}

const operators = ["admin", "backup", "encryption", "license", "migrate", "restore", "server"];

/** Returns the words that may follow each beginning of a command line. */
function followingOf(commands: Commands): Following[] {
  const names = Object.keys(commands);
  const groups = Map.groupBy(names, groupOf);
  const verbs = [...groups].map(([group, own]) => ({
    typed: group,
    words: own.filter((name) => name !== group).map((name) => name.slice(group.length + 1)),
  }));
  return [
    { typed: "", words: [...new Set([...groups.keys(), ...operators])].toSorted() },
    ...verbs.filter(({ words }) => words.length > 0),
    ...Object.entries(commands).map(([name, { options = [] }]) => ({
      typed: name,
      words: [...options.map(([option]) => option.split(" ", 1)[0]!), "--help"],
    })),
  ];
}

const quoteWords = (words: readonly string[]) => `"${words.join(" ")}"`;

/** The cases of a beginning: itself, and, for the name of a command, whatever more is typed. */
const caseOf = (commands: Commands, { typed, words }: Following): string =>
  `    ${typed in commands ? `"${typed}" | "${typed} "*` : `"${typed}"`}) choices=${quoteWords(words)} ;;`;

const casesOf = (commands: Commands): string =>
  followingOf(commands)
    .map((following) => caseOf(commands, following))
    .join("\n");

type Shell = (commands: Commands) => string;

const bash: Shell = (commands) => `_steward() {
  local typed="\${COMP_WORDS[*]:1:COMP_CWORD-1}" choices=""
  case "$typed" in
${casesOf(commands)}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _steward steward`;

const zsh: Shell = (commands) => `#compdef steward
_steward() {
  local typed="\${(j: :)words[2,CURRENT-1]}"
  local choices=""
  case "$typed" in
${casesOf(commands)}
  esac
  compadd -- \${=choices}
}
compdef _steward steward`;

const fish: Shell = (commands) =>
  [
    `function __steward_typed
  set -l typed (commandline --tokenize --current-process --cut-at-cursor)[2..]
  echo "$typed"
end`,
    ...followingOf(commands).map(({ typed, words }) => {
      const pattern = typed in commands ? `^${typed}( |$)` : `^${typed}$`;
      return `complete -c steward -f -n "__steward_typed | string match -qr '${pattern}'" -a ${quoteWords(words)}`;
    }),
  ].join("\n");

const shells: Readonly<Record<string, Shell>> = { bash, zsh, fish };

/** The command that prints a script for a shell. */
export const completionCommand = (commands: () => Commands) =>
  command({
    usage: "completion bash|zsh|fish",
    summary:
      "Print a script with which a shell completes commands and options of the program steward: run it when the shell starts, as in source <(steward completion bash).",
    takes: [1, 1],
    run: async ({ words: [shell = ""], output }) => {
      const script = shells[shell];
      if (!script) throw new UsageError(`The shell must be one of: ${Object.keys(shells).join(", ")}.`);
      output.text(script(commands()));
    },
  });
