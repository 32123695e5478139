// The options of an ACP session that a template may set: its mode, its model, and its effort. Programs offer them as
// configuration options, by their categories, and modes also by themselves (protocol version 1).
import {
  type ClientConnection,
  methods,
  type NewSessionResponse,
  RequestError,
  type SessionConfigOption,
} from "@agentclientprotocol/sdk";
import { clipText } from "../text.js";

export interface SessionOptions {
  mode?: string;
  model?: string;
  effort?: string;
}

/** The options that a session offers, with their values. */
export type SessionState = Pick<NewSessionResponse, "modes" | "configOptions">;

/** The categories of configuration options by the options of a template. */
const categories = { mode: "mode", model: "model", effort: "thought_level" } as const;

/** Modes of programs that are known to work without asking any user for permissions, without punctuation. */
const silentModes: ReadonlySet<string> = new Set([
  "auto",
  "autonomous",
  "bypasspermissions",
  "dontask",
  "agentfullaccess",
  "dangerfullaccess",
  "fullaccess",
  "never",
  "yolo",
]);

/** Whether a program asks no user for permissions in a mode, by its ID. */
export const asksNobody = (mode: string): boolean =>
  silentModes.has(
    mode
      .replace(/^.*[#/:]/, "")
      .replace(/[^a-z]/gi, "")
      .toLowerCase(),
  );

const selectOf = ({ configOptions }: SessionState, category: string) =>
  (configOptions ?? []).find(
    (option): option is Extract<SessionConfigOption, { type: "select" }> =>
      option.category === category && option.type === "select",
  );

/** The mode of a session; undefined if the program does not tell one. */
export const modeOf = (state: SessionState): string | undefined =>
  selectOf(state, categories.mode)?.currentValue ?? state.modes?.currentModeId;

/** The values that a configuration option offers, those of groups included. */
const valuesOf = ({ options }: Extract<SessionConfigOption, { type: "select" }>): string[] =>
  options.flatMap((each) => ("group" in each ? each.options.map(({ value }) => value) : [each.value]));

/**
 * Sets the options of a session. Returns its state after it, or a sentence that says why it cannot be set: with the values
 * that the program offers.
 */
export async function setOptions(
  agent: ClientConnection["agent"],
  sessionId: string,
  begun: SessionState,
  wanted: SessionOptions,
): Promise<SessionState | string> {
  let state = begun;
  // The model comes first: the levels of effort may depend on it.
  for (const name of ["model", "effort", "mode"] as const) {
    const value = wanted[name];
    if (value === undefined) continue;
    const select = selectOf(state, categories[name]);
    const modes = name === "mode" && !select ? state.modes : undefined;
    const offered = select ? valuesOf(select) : (modes?.availableModes ?? []).map(({ id }) => id);
    if (offered.length === 0) return `The program offers no choice of its ${name}, and so not ${clipText(value, 100)}.`;
    if (!offered.includes(value))
      return clipText(`The program does not offer the ${name} ${value}, but: ${offered.join(", ")}.`, 500);
    try {
      if (select) {
        const request = { sessionId, configId: select.id, value };
        const { configOptions } = (await agent.request(methods.agent.session.setConfigOption, request)) as SessionState;
        state = { ...state, configOptions };
      } else {
        await agent.request(methods.agent.session.setMode, { sessionId, modeId: value });
        state = { ...state, modes: { ...modes!, currentModeId: value } };
      }
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return clipText(`The program rejected the ${name} ${value}: ${error.message}`, 300);
    }
  }
  return state;
}
