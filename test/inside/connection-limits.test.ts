// Which connections are closed when there are too many.
// Looks inside: tests cannot connect from other addresses.
import { EventEmitter } from "node:events";
import { Server, type Socket } from "node:net";
import { expect } from "chai";
import ipaddr from "ipaddr.js";
import { Connections, connectionLimit } from "../../src/http/listener.js";

/** The parts of a connection that the limit uses. */
class Peer extends EventEmitter {
  isClosed = false;

  constructor(readonly remoteAddress: string) {
    super();
  }

  destroy(): void {
    this.isClosed = true;
    this.emit("close");
  }
}

/** A limit of 40 connections that trusts the proxies in 10.0.0.0/8. */
function listener() {
  const busy = new Set<Peer>();
  const server = new Server();
  const config = { trustedProxies: [ipaddr.parseCIDR("10.0.0.0/8")] };
  new Connections(40, config, () => busy as unknown as Set<Socket>).bound(server);
  const connect = (count: number, address: string) =>
    Array.from({ length: count }, () => {
      const peer = new Peer(address);
      server.emit("connection", peer);
      return peer;
    });
  const work = (peers: Peer[]) => peers.forEach((peer) => busy.add(peer));
  return { connect, work };
}

const open = (peers: Peer[]) => peers.filter(({ isClosed }) => !isClosed).length;

describe("the limit of connections", () => {
  it("reserves file descriptors for the database and for files", () => {
    expect(connectionLimit({ databasePool: 20 }, 256)).to.be.within(100, 180);
    expect(connectionLimit({ databasePool: 20 }, 1_048_576)).to.equal(20_000);
    expect(connectionLimit({ databasePool: 20 }, Infinity)).to.equal(20_000);
    expect(connectionLimit({ databasePool: 1000 }, 1024)).to.equal(16);
  });

  it("closes the oldest idle connections of the largest network, and accepts the newest", () => {
    const { connect } = listener();
    const few = connect(5, "192.0.2.1");
    const many = connect(20, "192.0.2.2");
    const others = connect(15, "192.0.2.3");
    const [late] = connect(1, "192.0.2.4");
    expect([open(few), open(many), open(others), late!.isClosed]).to.deep.equal([5, 18, 15, false]);
    expect(
      many.slice(0, 2).every(({ isClosed }) => isClosed),
      "the oldest",
    ).to.equal(true);
  });

  it("keeps connections with requests, and rejects the newest when all have some", () => {
    const { connect, work } = listener();
    const busy = connect(39, "10.0.0.1");
    work(busy);
    const silent = connect(1, "10.0.0.2");
    const [next] = connect(1, "10.0.0.3");
    expect([open(busy), open(silent), next!.isClosed]).to.deep.equal([39, 0, false]);
    work([next!]);
    const [last] = connect(1, "10.0.0.3");
    expect([open(busy), next!.isClosed, last!.isClosed]).to.deep.equal([39, false, true]);
  });

  it("lets one network hold half of the connections when idle, and all of them with requests", () => {
    const silent = listener();
    expect(open(silent.connect(39, "192.0.2.1"))).to.be.within(18, 20);
    expect(open(silent.connect(19, "2001:db8::1").concat(silent.connect(19, "2001:db8::ffff:2")))).to.be.at.most(20);

    const { connect, work } = listener();
    const peers = connect(20, "192.0.2.1");
    work(peers);
    expect(open(peers.concat(connect(10, "192.0.2.1")))).to.be.within(20, 30);
    expect(open(peers)).to.equal(20);
  });

  it("counts proxies and this machine as many clients, and closes others first", () => {
    for (const address of ["10.1.2.3", "127.0.0.1", "::ffff:127.0.0.1", "::1"]) {
      const { connect } = listener();
      const shared = connect(35, address);
      const others = connect(5, "192.0.2.1");
      connect(1, "192.0.2.2");
      expect([open(shared), open(others)], address).to.deep.equal([35, 3]);
    }
  });

  it("forgets closed connections", () => {
    const { connect } = listener();
    for (let round = 0; round < 10; round++) for (const peer of connect(40, "10.0.0.1")) peer.destroy();
    expect(open(connect(40, "10.0.0.1"))).to.equal(40);
  });
});
