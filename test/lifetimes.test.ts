// What is under way when the server stops.
import { PassThrough } from "node:stream";
import { expect } from "chai";
import { Lifetimes } from "../src/http/lifetimes.js";
import { eventually } from "./support/watchers.js";

describe("a server that stops", () => {
  it("ends what begins while it stops", async () => {
    const lifetimes = new Lifetimes();
    const [early, late] = [new PassThrough(), new PassThrough()];
    for (const socket of [early, late]) lifetimes.begin(socket);
    const before = lifetimes.of(early);
    const drained = lifetimes.drain(60_000);
    expect(before.signal.reason).to.equal("restart");
    expect(lifetimes.of(late).signal.reason).to.equal("restart");
    for (const socket of [early, late]) socket.destroy();
    await drained;
  });

  it("cuts sockets whose peers do not answer the close frame, long before its grace is over", async () => {
    const lifetimes = new Lifetimes();
    const socket = new PassThrough();
    lifetimes.begin(socket);
    const drained = lifetimes.drain(60_000);
    await eventually(() => socket.destroyed, "the socket is cut", 10_000);
    await drained;
  });
});
