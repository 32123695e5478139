// The command that compares the audit log with its seals.
// Looks inside: days pass, and an event is changed as only those can who can write to the database.
import { expect } from "chai";
import { sealDays } from "../../../src/domain/audit/seals.js";
import { command } from "../../support/process.js";
import { countRows, setColumns, setTimes } from "../../support/tables.js";
import { eventually } from "../../support/watchers.js";
import { world } from "../../support/world.js";

describe("steward server audit verify", () => {
  const the = world();
  const verify = (...words: string[]) =>
    command({ STEWARD_DATABASE_URL: the().database.url }, "server", "audit", "verify", ...words);

  it("prints each day with its hash, what it cannot prove, and fails for a day that does not hold", async () => {
    const w = the();
    await w.user("ada");
    await eventually(async () => (await countRows(w, "audit_number_queue")) === 0, "all are numbered");
    expect(await verify())
      .to.include({ status: 0 })
      .and.have.property("stdout")
      .that.includes("No day is sealed.");
    await setTimes(w, "audit_numbers", {}, { numbered_at: "-2 d" });
    await sealDays.run(w.app.services);

    const { status, stdout } = await verify();
    expect(status).to.equal(0);
    const [, day, hash] = /^(\d{4}-\d\d-\d\d) {2}([0-9a-f]{64}) {2}1 to \d+ {2}holds$/m.exec(stdout)!;
    expect(stdout).to.include("It does not prove:");
    expect((await verify("--seal", `${day}=${hash}`, "--from", day!, "--to", day!)).status).to.equal(0);

    const other = await verify("--seal", `${day}=${"0".repeat(64)}`);
    expect(other.status).to.equal(1);
    expect(other.stdout + other.stderr).to.include("Its seal is not the one that was noted elsewhere.");
    await setColumns(w, "audit_log", {}, { request_id: "forged" });
    const forged = await verify();
    expect(forged.status).to.equal(1);
    expect(forged.stdout + forged.stderr).to.include("Its events are not those that were sealed.");
  });

  it("rejects days and seals of another form", async () => {
    for (const words of [["--from", "yesterday"], ["--to", "2026-1-1"], ["--seal", "2026-01-01"], ["extra"]])
      expect((await verify(...words)).status, words.join(" ")).to.equal(2);
  });
});
