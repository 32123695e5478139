// The logo as a file, which the server keeps.
import { createHash } from "node:crypto";
import { expect } from "chai";
import { startServer } from "./support/app.js";
import { beginning, dataUrl, png } from "./support/pictures.js";
import { Client, world } from "./support/world.js";

const path = "/api/v2/appearance";
const update = `mutation($input: UpdateAppearanceInput!) {
  updateAppearance(input: $input) { appearance { applicationName logoUrl } } }`;
const most = 128 * 1024;
const hashOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");

describe("a logo that is a file", () => {
  const the = world();
  const set = async (logoUrl: string, more: object = {}) =>
    (
      await the()
        .as(the().owner)
        .graphql(update, { input: { ...more, logoUrl } })
    ).updateAppearance.appearance;
  const read = (at: string, method = "GET") => fetch(new URL(at, the().url), { method });
  const accessUrl = async () => (await the().nobody.graphql("{ serverInfo { accessUrl } }")).serverInfo.accessUrl;
  const latest = async () =>
    (
      await the()
        .as(the().owner)
        .graphql(`{ auditEvents(first: 1, filter: { resourceType: "appearance" }) { nodes { action diff } } }`)
    ).auditEvents.nodes[0]!;

  it("is kept, and served to everyone at the path of its hash, byte for byte", async () => {
    const files = {
      "image/png": ["png", png(200, 0, 0)],
      "image/jpeg": ["jpg", beginning("\xff\xd8\xff\xe0")],
      "image/webp": ["webp", beginning("RIFF\x10\x00\x00\x00WEBPVP8 ", most)],
    } as const;
    for (const [type, [ending, content]] of Object.entries(files)) {
      const { logoUrl } = await set(dataUrl(type, content));
      expect(logoUrl).to.equal(`${await accessUrl()}/logos/${hashOf(content)}.${ending}`);
      const served = await read(logoUrl);
      expect(served.status).to.equal(200);
      expect(Object.fromEntries(served.headers)).to.include({
        "content-type": type,
        "content-length": String(content.length),
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'",
      });
      expect(Buffer.from(await served.arrayBuffer()).equals(content)).to.equal(true);
      const head = await read(logoUrl, "HEAD");
      expect([head.status, await head.text()]).to.deep.equal([200, ""]);
    }
  });

  it("is where the appearance is: in REST, for visitors, and on pages", async () => {
    const w = the();
    const { body } = await w.as(w.owner).put(path, { logo_url: dataUrl("image/png", png(0, 200, 0)) });
    const url = `${await accessUrl()}/logos/${hashOf(png(0, 200, 0))}.png`;
    expect(body.logo_url).to.equal(url);
    expect((await w.as(await w.user("ada")).get(path)).body.logo_url).to.equal(url);
    const { serverInfo } = await w.nobody.graphql("{ serverInfo { branding { logoUrl } } }");
    expect(serverInfo.branding.logoUrl).to.equal(url);
    const page = await w.nobody.get("/login", { Accept: "text/html" });
    expect(page.body).to.include(`<img src="${url}" alt="" />`);
    expect(page.headers.get("content-security-policy")).to.include(`img-src 'self' data: ${await accessUrl()};`);
  });

  it("stays while its URL is sent back, and is removed by another one or by none", async () => {
    for (const next of ["https://cdn.example.com/logo.png", "/own.png", "", dataUrl("image/png", png(1, 2, 3))]) {
      const { logoUrl } = await set(dataUrl("image/png", png(9, 9, 9)));
      for (const same of [logoUrl, new URL(logoUrl).pathname]) {
        expect(await set(same, { applicationName: "Forge" })).to.deep.equal({ applicationName: "Forge", logoUrl });
        expect((await read(logoUrl)).status).to.equal(200);
      }
      await set(next);
      expect((await read(logoUrl)).status, next).to.equal(404);
      // The path of a file that is gone is a path like any other.
      expect((await set(new URL(logoUrl).pathname)).logoUrl).to.equal(new URL(logoUrl).pathname);
    }
    for (const at of ["x.png", `${"0".repeat(64)}.png`, `${"0".repeat(64)}.svg`, "%00.png", "%2e%2e.png"])
      expect((await read(`/logos/${at}`)).status, at).to.equal(404);
  });

  it("is served by its own ending only", async () => {
    const { logoUrl } = await set(dataUrl("image/png", png(4, 4, 4)));
    for (const other of ["jpg", "webp", "html", "PNG"])
      expect((await read(logoUrl.replace(/png$/, other))).status, other).to.equal(404);
    expect((await read(logoUrl, "POST")).status).to.equal(405);
  });

  it("is in the audit log by type, size, and hash, without its content", async () => {
    await set("");
    const content = png(5, 6, 7);
    await set(dataUrl("image/png", content));
    const sha256 = hashOf(content);
    const file = { sha256, mediaType: "image/png", size: content.length };
    const changed = {
      logoUrl: { old: "", new: `/logos/${sha256}.png` },
      logoFile: { old: null, new: file },
    };
    expect(await latest()).to.deep.equal({ action: "UPDATE", diff: changed });
    await set("/own.png");
    expect((await latest()).diff).to.deep.equal({
      logoUrl: { old: `/logos/${sha256}.png`, new: "/own.png" },
      logoFile: { old: file, new: null },
    });
  });

  it("is of a known type that its first bytes are of, in base64, and of at most 128 KiB, or else nothing changes", async () => {
    const w = the();
    const { logoUrl } = await set(dataUrl("image/png", png(8, 8, 8)), { applicationName: "Stays" });
    const good = png(1, 1, 1);
    const faulty = {
      "a script in SVG": dataUrl("image/svg+xml", Buffer.from("<svg onload='alert(1)'/>")),
      "a page": dataUrl("text/html", good),
      "a GIF": dataUrl("image/gif", beginning("GIF89a")),
      "a page that says it is a PNG": dataUrl("image/png", Buffer.from("<script>alert(1)</script>")),
      "a PNG that says it is a JPEG": dataUrl("image/jpeg", good),
      "a sound in RIFF": dataUrl("image/webp", beginning("RIFF\x10\x00\x00\x00WAVE")),
      "a beginning alone": dataUrl("image/png", good.subarray(0, 7)),
      nothing: "data:image/png;base64,",
      "a byte too much": dataUrl("image/png", beginning("\x89PNG\r\n\x1a\n", most + 1)),
      "much too much": dataUrl("image/png", beginning("\x89PNG\r\n\x1a\n", 700_000)),
      "white space": `${dataUrl("image/png", good)}\n`,
      "no padding": dataUrl("image/png", png(1, 1, 1)).replace(/=*$/, "") + "A",
      "more after it": `${dataUrl("image/png", good)}"><script>`,
      "a parameter": dataUrl("image/png;charset=utf-8", good),
      "no base64": `data:image/png,${encodeURIComponent(good.toString("latin1"))}`,
      "upper case": dataUrl("image/png", good).replace("data:image/png", "DATA:IMAGE/PNG"),
      "a null character": `${dataUrl("image/png", good)}\0`,
      "a lone surrogate": `${dataUrl("image/png", good)}\ud800`,
    };
    for (const [what, given] of Object.entries(faulty)) {
      const answer = await w.as(w.owner).put(path, { logo_url: given, application_name: "Changed" });
      expect(answer.status, what).to.equal(400);
      expect(answer.body.validations, what).to.have.length(1);
      expect(answer.body.validations[0].field, what).to.equal("logo_url");
      expect(JSON.stringify(answer.body), what).to.have.length.below(1000);
    }
    const { code, errors } = await w
      .as(w.owner)
      .failure(update, { input: { logoUrl: faulty["a PNG that says it is a JPEG"], applicationName: "x".repeat(65) } });
    expect(code).to.equal("BAD_USER_INPUT");
    expect(errors[0]!.extensions.validations).to.deep.include({
      field: "input.logoUrl",
      detail: "Must be a file of the type that the data URL names: it does not begin as image/jpeg does.",
    });
    expect(errors[0]!.extensions.validations).to.have.length(2);
    expect((await w.as(w.owner).get(path)).body).to.deep.include({ logo_url: logoUrl, application_name: "Stays" });
    expect((await read(logoUrl)).status).to.equal(200);
  });

  it("is set by owners alone, whose keys have the scope", async () => {
    const w = the();
    const { logoUrl } = await set(dataUrl("image/png", png(3, 3, 3)));
    const input = { logoUrl: dataUrl("image/png", png(2, 2, 2)) };
    const narrow = await w.scoped(w.owner, "deployment_config:read", "template:*");
    const others = [w.as(await w.user("bob")), w.as(narrow), w.nobody];
    for (const client of others) {
      const { code } = await client.failure(update, { input });
      expect(code).to.equal(client === w.nobody ? "UNAUTHENTICATED" : "FORBIDDEN");
      expect((await client.put(path, { logo_url: input.logoUrl })).status).to.equal(client === w.nobody ? 401 : 403);
    }
    expect((await read(`/logos/${hashOf(png(2, 2, 2))}.png`)).status).to.equal(404);
    expect((await read(logoUrl)).status).to.equal(200);
    const wide = w.as(await w.scoped(w.owner, "deployment_config:update"));
    await wide.graphql(update, { input });
    expect((await read(`/logos/${hashOf(png(2, 2, 2))}.png`)).status).to.equal(200);
  });

  it("is on all replicas, and is exactly one after concurrent updates on two of them", async () => {
    const w = the();
    const replica = await startServer(w.database.url, { STEWARD_ACCESS_URL: await accessUrl() });
    try {
      const clients = [w.as(w.owner), new Client(replica.url, w.owner.token)];
      const files = Array.from({ length: 12 }, (_, at) => png(at, 50, 50));
      const { logoUrl: before } = await set(dataUrl("image/png", png(77, 7, 7)));
      const sent = files.map((file, at) => (at % 3 === 2 ? before : dataUrl("image/png", file)));
      const answers = await Promise.all(sent.map((logo_url, at) => clients[at % 2]!.put(path, { logo_url })));
      for (const { status } of answers) expect(status).to.equal(200);
      const { logo_url: stored } = (await w.as(w.owner).get(path)).body;
      const statuses = [...files, png(77, 7, 7)].map(async (file) => {
        const at = `/logos/${hashOf(file)}.png`;
        const [here, there] = await Promise.all([read(at), fetch(replica.url + at)]);
        expect(here.status).to.equal(there.status);
        return [`${await accessUrl()}${at}`, here.status] as const;
      });
      const kept = (await Promise.all(statuses)).filter(([, status]) => status === 200);
      expect(kept.length).to.be.at.most(1);
      // The URL of the file before may have been sent back after another update had removed it.
      if (kept.length === 1 || stored !== before) expect(kept).to.deep.equal([[stored, 200]]);
      await set("");
      expect((await fetch(new URL(new URL(stored).pathname, replica.url))).status).to.equal(404);
    } finally {
      await replica.close();
    }
  });
});
