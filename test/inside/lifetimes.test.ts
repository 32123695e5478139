// What happens to open sockets when the server stops.
// Looks inside: sockets that open and hang in the moment of a stop are simulated.
import { PassThrough } from "node:stream";
import { expect } from "chai";
import { Lifetimes } from "../../src/http/lifetimes.js";
import { eventually } from "../support/watchers.js";

describe("a stopping server", () => {
  it("ends sockets that open while it stops", async () => {
    const lifetimes = new Lifetimes();
    const early = new PassThrough();
    const late = new PassThrough();
    for (const socket of [early, late]) lifetimes.begin(socket);
    const before = lifetimes.of(early);
    const drained = lifetimes.drain(60_000);
    expect(before.signal.reason).to.equal("restart");
    expect(lifetimes.of(late).signal.reason).to.equal("restart");
    for (const socket of [early, late]) socket.destroy();
    await drained;
  });

  it("does not wait for requests that begin while it stops, however many there are", async () => {
    const lifetimes = new Lifetimes();
    const early = new PassThrough();
    const late = new PassThrough();
    lifetimes.begin(early);
    const drained = lifetimes.drain(60_000);
    lifetimes.begin(late);
    early.destroy();
    await drained;
    expect(late.destroyed).to.equal(true);
  });

  it("destroys sockets whose peers ignore the close frame, long before the grace period ends", async () => {
    const lifetimes = new Lifetimes();
    const socket = new PassThrough();
    lifetimes.begin(socket);
    const drained = lifetimes.drain(60_000);
    await eventually(() => socket.destroyed, "the socket is destroyed", 10_000);
    await drained;
  });
});
