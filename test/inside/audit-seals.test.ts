// Looks inside: days pass, and rows are changed as only those can who can write to the database.
import { expect } from "chai";
import { sealDays, type VerifyOptions } from "../../src/domain/audit/seals.js";
import { withTimeLeft } from "../support/clock.js";
import { asRestored, readAllNumbered, verifySeals } from "../support/audit-stream.js";
import { countRows, deleteRows, setColumns, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type World, world } from "../support/world.js";

const year = 365 * 24 * 3_600_000;

describe("the seals of the audit log", () => {
  const the = world();
  const verify = (w: World, options: Partial<VerifyOptions> = {}) =>
    verifySeals(w.app, { known: new Map(), retention: 0, ...options });
  const faults = async (options: Partial<VerifyOptions> = {}) =>
    (await verify(the(), options)).days.map(({ fault }) => fault);
  const seal = () => sealDays.run(the().app.services);
  const numbered = async () => {
    await eventually(async () => (await countRows(the(), "audit_number_queue")) === 0, "all are numbered");
    return readAllNumbered(the().url, the().owner.token);
  };
  /** The events of the first day, and those of the second one. */
  let first: string[];
  let second: string[];

  before(async () => {
    const w = the();
    // The events of today must be of one day.
    await withTimeLeft(86_400_000, 60_000);
    await w.users("a", "b", "c");
    const early = await numbered();
    await asRestored(w.app);
    await w.users("d", "e");
    const all = await numbered();
    first = early.map(({ event }) => event.id);
    second = all.slice(early.length).map(({ event }) => event.id);
    await setTimes(w, "audit_numbers", { event_id: first }, { numbered_at: "-6 d" });
    await setTimes(w, "audit_numbers", { event_id: second }, { numbered_at: "-4 d" });
    await w.user("today");
    await numbered();
    expect((await verify(w)).days).to.deep.equal([]);
    await seal();
  });

  it("hold for each day that has ended, also after a restore, and are made once", async () => {
    const { days, unsealed } = await verify(the());
    expect(days.map(({ fault }) => fault)).to.deep.equal([null, null]);
    expect(days.map(({ seal: { eventCount } }) => eventCount)).to.deep.equal([first.length, second.length]);
    expect(days[1]!.seal.firstNumber).to.equal(1_000_000_001);
    expect(unsealed).to.be.above(0);
    await seal();
    expect(await verify(the())).to.deep.equal({ days, unsealed });
    const [{ seal: one }, { seal: other }] = days as [(typeof days)[0], (typeof days)[0]];
    expect(await faults({ from: other.day })).to.deep.equal([null]);
    expect(await faults({ to: one.day })).to.deep.equal([null]);
    expect(one.day < other.day).to.equal(true);
  });

  const changed = "Its events are not those that were sealed.";
  const changes: Record<string, [before: string, now: string]> = {
    resource_type: ["user", "group"],
    ip: ["127.0.0.1", "192.0.2.1"],
    actor_kind: ["user", "system"],
  };
  for (const [column, [before, now]] of Object.entries(changes))
    it(`do not hold for a day whose event has another ${column}, and hold for the next one`, async () => {
      const w = the();
      const id = first.at(-1)!;
      await setColumns(w, "audit_log", { id }, { [column]: now });
      expect(await faults()).to.deep.equal([changed, null]);
      await setColumns(w, "audit_log", { id }, { [column]: before });
      expect(await faults()).to.deep.equal([null, null]);
    });

  it("do not hold if two events change their places, or one is of another day", async () => {
    const w = the();
    const all = await numbered();
    const [a, b] = [first[0]!, first[1]!].map((id) => all.find(({ event }) => event.id === id)!.number);
    await setColumns(w, "audit_numbers", { number: a }, { event_id: first[1] });
    await setColumns(w, "audit_numbers", { number: b }, { event_id: first[0] });
    expect(await faults()).to.deep.equal([changed, null]);
    await setColumns(w, "audit_numbers", { number: a }, { event_id: first[0] });
    await setColumns(w, "audit_numbers", { number: b }, { event_id: first[1] });
    await setTimes(w, "audit_numbers", { event_id: second[0] }, { numbered_at: "-6 d" });
    expect(await faults()).to.deep.equal([changed, null]);
    await setTimes(w, "audit_numbers", { event_id: second[0] }, { numbered_at: "-4 d" });
    expect(await faults()).to.deep.equal([null, null]);
  });

  it("are computed again by those who write to the database, which only a hash that was noted elsewhere shows", async () => {
    const w = the();
    const { days } = await verify(w);
    const known = new Map(days.map(({ seal: { day, hash } }) => [day, hash]));
    expect(await faults({ known })).to.deep.equal([null, null]);
    await setColumns(w, "audit_log", { id: first[0] }, { request_id: "forged" });
    await deleteRows(w, "audit_days", {});
    await seal();
    expect(await faults()).to.deep.equal([null, null]);
    const another = "Its seal is not the one that was noted elsewhere.";
    expect(await faults({ known })).to.deep.equal([another, another]);
    expect(await faults({ known: new Map([["2020-01-01", "0".repeat(64)]]) })).to.deep.equal([
      null,
      null,
      "It has no seal.",
    ]);
  });

  it("do not hold for a day with events that are gone, unless it is kept no longer", async () => {
    const w = the();
    await deleteRows(w, "audit_log", { id: first[0] });
    expect(await faults()).to.deep.equal(["1 of its events are gone.", null]);
    expect(await faults({ retention: year })).to.deep.equal(["1 of its events are gone.", null]);
    const { days } = await verify(w, { retention: 1 });
    expect(days.map(({ fault, isExpired }) => [fault, isExpired])).to.deep.equal([
      [null, true],
      [null, false],
    ]);
    await deleteRows(w, "audit_numbers", { event_id: first });
    await deleteRows(w, "audit_days", { day: days[0]!.seal.day });
    expect(await faults()).to.deep.equal([changed]);
  });

  it("do not hold for the day after one that is gone with its numbers", async () => {
    const w = the();
    const all = await numbered();
    const third = all.map(({ event }) => event.id).filter((id) => !first.includes(id) && !second.includes(id));
    await setTimes(w, "audit_numbers", { event_id: third }, { numbered_at: "-2 d" });
    await seal();
    expect(await faults()).to.deep.equal([changed, null]);
    const [{ seal: gone }] = (await verify(w)).days as [Awaited<ReturnType<typeof verify>>["days"][number]];
    await deleteRows(w, "audit_numbers", { event_id: second });
    await deleteRows(w, "audit_days", { day: gone.day });
    expect(await faults()).to.deep.equal(["Numbers between it and the day before are gone."]);
  });
});
