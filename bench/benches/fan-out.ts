import { memberToken } from "../data.js";
import { sendCustom, watchesPerUser, watchPath } from "../inbox.js";
import { LoadGenerator } from "../load.js";
import { measureCost } from "../cost.js";
import { holdRounds, type Round, type Score } from "../rounds.js";
import { type Bench, type Run, type Start, startScript } from "../run.js";
import { startSteward } from "../steward.js";
import { Watchers } from "../watchers.js";

const users = 50;
const framesPerWave = users * watchesPerUser;

/** A wave is one item per user; all waves together stay below the number that a user may send in a minute. */
const waves = { warmUp: 4, measured: 14 };

/** Users that send in no other bench. Each measurement takes the next ones, whose limit per minute is unused. */
const audience = { first: 4_000, size: 1_000 };
let measurements = 0;

interface Contestant {
  name: string;
  /** The measured server, which has the watchers. */
  start: Start;
  /** Another server on the same database that is told the news, where there is one. */
  startAnnouncer?: Start;
}

const raw: Contestant = { name: "raw ws", start: startScript("floors/frames.ts") };
const steward: Contestant = {
  name: "Steward, news from another replica",
  start: startSteward,
  startAnnouncer: startSteward,
};

async function play(contestants: readonly Contestant[], run: Run): Promise<Round> {
  const round = new Map<string, Score>();
  for (const contestant of contestants) {
    run.progress(contestant.name);
    round.set(contestant.name, await measure(contestant, run));
  }
  return round;
}

async function measure({ start, startAnnouncer }: Contestant, run: Run): Promise<Score> {
  const tokens = nextTokens();
  await using server = await start(run);
  await using announcer = await startAnnouncer?.(run);
  using watchers = new Watchers(server.url, watchPath);
  await watchers.open(tokens.flatMap((token) => Array<string>(watchesPerUser).fill(token)));
  using generator = await LoadGenerator.open((announcer ?? server).url, announcements(tokens));

  await sendWaves(waves.warmUp, generator, watchers);
  const since = performance.now();
  const stop = measureCost(server, run.postgres);
  await sendWaves(waves.measured, generator, watchers);
  const seconds = (performance.now() - since) / 1_000;
  const frames = waves.measured * framesPerWave;
  return { ...stop(frames), perSecond: frames / seconds };
}

function nextTokens(): string[] {
  const first = audience.first + ((measurements++ * users) % audience.size);
  return Array.from({ length: users }, (_, nr) => memberToken(first + nr));
}

function announcements(tokens: readonly string[]) {
  const asked = tokens.map(sendCustom);
  return { connections: asked.length, request: (connection: number) => asked[connection]! };
}

/** Starts the next wave when every watcher has received the last one. */
async function sendWaves(count: number, generator: LoadGenerator, watchers: Watchers): Promise<void> {
  for (let wave = 0; wave < count; wave++) {
    await Promise.all([watchers.received(watchers.frames + framesPerWave), generator.each()]);
  }
}

/** The cost per frame of sending to a thousand sockets, 20 of each user. */
export const fanOutBench: Bench = {
  name: "fan-out",
  measure(run) {
    const pairs = [{ of: steward.name, against: raw.name, goal: { limit: 6, aim: 3 } }];
    return holdRounds("fan-out to 1,000 watchers", [raw, steward], pairs, play, run);
  },
};
