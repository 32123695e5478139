// The worker thread that estimates password strength.
import { parentPort } from "node:worker_threads";
import { ZxcvbnFactory } from "@zxcvbn-ts/core";
import * as common from "@zxcvbn-ts/language-common";
import * as english from "@zxcvbn-ts/language-en";
import type { GuessedPassword, Strength } from "./estimator.js";

const estimator = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary },
  graphs: common.adjacencyGraphs,
  translations: english.translations,
  // Characters to consider; the time grows with their square.
  maxLength: 128,
  // Leetspeak variants to try. The default of 100 takes a second for 128 characters.
  l33tMaxSubstitutions: 8,
});

parentPort?.on("message", ({ password, known }: GuessedPassword) => {
  const { score, feedback } = estimator.check(password, known);
  const advice = [feedback.warning ?? "", ...feedback.suggestions].filter((text) => text !== "");
  const strength: Strength = { score, advice };
  parentPort?.postMessage(strength); // oxlint-disable-line unicorn/require-post-message-target-origin -- no window
});
