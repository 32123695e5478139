import { readFile } from "node:fs/promises";
import { command, flag, text, UsageError } from "./command.js";
import { confirm, readHidden } from "./confirm.js";
import { ApiFailure, Failed } from "./failures.js";
import { moment } from "./output.js";
import { CreateSecret, DeleteSecret, Secret, Secrets, UpdateSecret } from "./secrets.gql.js";

const list = command({
  usage: "secrets list",
  summary: "List your secrets. Their values cannot be read.",
  run: async ({ api: open, output }) => {
    const { userSecrets } = await (await open()).run(Secrets, {});
    output.list(userSecrets, {
      NAME: ({ name }) => name,
      VARIABLE: ({ envName }) => envName,
      FILE: ({ filePath }) => filePath,
      DELIVERED: ({ lastDeliveredAt }) => moment(lastDeliveredAt) || "never",
      DESCRIPTION: ({ description }) => description,
    });
  },
});

const set = command({
  usage: "secrets set NAME",
  summary:
    "Create a secret, or change it. Its value is read from standard input, without the end of its last line, or from a file, unchanged. It is never an argument: other users of the machine can read those.",
  takes: [1, 1],
  options: {
    file: text("PATH", "Read the value from this file."),
    variable: text("NAME", "Environment variable that workspaces set to the value; empty for none."),
    path: text("PATH", "File in workspaces with the value: a path that begins with ~/ or /; empty for none."),
    description: text("TEXT", "Description."),
  },
  run: async ({ api: open, words: [name = ""], options, output, signal }) => {
    const api = await open();
    const value =
      options.file === undefined ? await readHidden(`Value of ${name}: `, signal) : await valueIn(options.file);
    if (value === "") throw new UsageError("The value is empty.");
    const fields = {
      ...(options.variable !== undefined && { envName: options.variable }),
      ...(options.path !== undefined && { filePath: options.path }),
      ...(options.description !== undefined && { description: options.description }),
    };
    const input = { name, value, user: "me", ...fields };
    const isThere = await api.run(Secret, { name }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof ApiFailure && error.code === "NOT_FOUND") return false;
        throw error;
      },
    );
    const { done } = isThere ? await api.run(UpdateSecret, { input }) : await api.run(CreateSecret, { input });
    output.done(done.userSecret, `Secret ${name} is ${isThere ? "changed" : "created"}.`);
  },
});

/** Reads a file whose content is text: secrets are. */
async function valueIn(path: string): Promise<string> {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read (${error.code}).`);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new Failed(`${path} is not text in UTF-8.`);
  }
}

const remove = command({
  usage: "secrets delete NAME",
  summary: "Delete a secret. Running workspaces keep its value until they restart.",
  takes: [1, 1],
  options: { yes: flag("Do not ask.") },
  run: async ({ api: open, words: [name = ""], options, output, signal }) => {
    const api = await open();
    if (!options.yes) await confirm(`Delete the secret ${name}?`, signal);
    await api.run(DeleteSecret, { input: { name, user: "me" } });
    output.done({ name }, `Secret ${name} is deleted.`);
  },
});

export const secretCommands = { "secrets list": list, "secrets set": set, "secrets delete": remove };
