// Completion of commands and options in shells, by scripts that are made from the declarations of the commands.
import { command, UsageError } from "./command.js";
import { type Commands, groupOf, spellingsOf } from "./command-names.js";

/** Words that may follow what is typed: the name of a group, or of a command. */
interface Following {
  typed: string;
  words: readonly string[];
  /** Whether they may follow whatever else is typed after it, as the options of a command. */
  isCommand: boolean;
}

const operators = ["admin", "backup", "encryption", "license", "migrate", "restore", "server"];

/** Returns the words that may follow each beginning of a command line. The first one that matches holds. */
function followingOf(commands: Commands): Following[] {
  const names = Object.keys(commands);
  const groups = Map.groupBy(names, groupOf);
  const optionsOf = (name: string) =>
    commands[name] ? [...(commands[name].options ?? []).map(([option]) => option.split(" ", 1)[0]!), "--help"] : [];
  const verbsOf = (group: string) =>
    groups
      .get(group)!
      .filter((name) => name !== group)
      .map((name) => name.slice(group.length + 1));
  const verbs = [...groups.keys()]
    .filter((group) => verbsOf(group).length > 0)
    // Some groups are commands, too.
    .map((group) => ({ typed: group, words: [...verbsOf(group), ...optionsOf(group)], isCommand: false }));
  const byLength = names.toSorted((one, other) => other.split(" ").length - one.split(" ").length);
  return [
    { typed: "", words: [...new Set([...groups.keys(), ...operators])].toSorted(), isCommand: false },
    ...verbs,
    ...byLength.map((name) => ({ typed: name, words: optionsOf(name), isCommand: true })),
  ];
}

const quoteWords = (words: readonly string[]) => `"${words.join(" ")}"`;

/** The cases of a beginning, in all its spellings: itself, and, for the name of a command, whatever more is typed. */
function caseOf(commands: Commands, { typed, words, isCommand }: Following): string {
  const patterns = spellingsOf(commands, typed).flatMap((each) => [`"${each}"`, ...(isCommand ? [`"${each} "*`] : [])]);
  return `    ${patterns.join(" | ")}) choices=${quoteWords(words)} ;;`;
}

const casesOf = (commands: Commands): string =>
  followingOf(commands)
    .map((following) => caseOf(commands, following))
    .join("\n");

type Shell = (commands: Commands) => string;

// Without mapfile, which the bash of macOS lacks.
const bash: Shell = (commands) => `_steward() {
  local typed="\${COMP_WORDS[*]:1:COMP_CWORD-1}" choices=""
  case "$typed" in
${casesOf(commands)}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _steward steward`;

// Works when it is run, and as a file _steward among the functions of the shell, which runs it at the first completion.
const zsh: Shell = (commands) => `#compdef steward
_steward() {
  local typed="\${(j: :)words[2,CURRENT-1]}"
  local choices=""
  case "$typed" in
${casesOf(commands)}
  esac
  [[ -n $choices ]] && compadd -- \${=choices}
  [[ $choices == *--help && $words[CURRENT] != -* ]] && _files
}
if [[ $funcstack[1] == _steward ]]; then
  _steward "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _steward steward
fi`;

const fish: Shell = (commands) =>
  [
    `function __steward_typed
  set -l typed (commandline --tokenize --current-process --cut-at-cursor)[2..]
  echo "$typed"
end`,
    ...followingOf(commands).map(({ typed, words, isCommand }) => {
      const spellings = spellingsOf(commands, typed).join("|");
      // A command may take the path of a file. What follows a group that is a command is one of its own, or an option.
      const more = typed.includes(" ") ? "( |$)" : "( -.*)?$";
      const pattern = `^(${spellings})${isCommand ? more : "$"}`;
      // A dollar sign would begin a variable.
      return `complete -c steward ${isCommand ? "" : "-f "}-n "__steward_typed | string match -qr '${pattern.replaceAll("$", String.raw`\$`)}'" -a ${quoteWords(words)}`;
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
