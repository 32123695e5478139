// Request bodies and query strings on REST routes, and how invalid ones are reported.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { raw, rawRequest } from "./support/raw.js";
import { type Answer, world } from "./support/world.js";

describe("REST input", () => {
  const w = world();
  const owner = () => w().as(w().owner);
  const everyone = () => `/api/v2/groups/${w().defaultOrganization}`;
  const fields = ({ body }: Answer): string[] => (body.validations ?? []).map(({ field }: { field: string }) => field);

  describe("request bodies", () => {
    const patch = (body: unknown, headers?: Record<string, string>) => owner().patch(everyone(), body, headers);

    it("must be JSON in UTF-8, under any JSON media type", async () => {
      for (const type of [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/merge-patch+json",
        "application/json; foo=bar",
        "application/json;charset=utf8",
        'application/vnd.api+json; profile="a;b"; charset=UTF-8',
      ]) {
        expect(await patch({}, { "Content-Type": type }), type).to.include({ status: 200 });
      }
      for (const type of [
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
        "json",
        "",
      ]) {
        const answer = await patch("{}", { "Content-Type": type });
        expect(answer, type).to.include({ status: 415 });
        expect(answer.body).to.deep.equal({
          message: "Unsupported media type.",
          detail: `Sent: Content-Type ${JSON.stringify(type)}. Taken: application/json or a type that ends in +json, in UTF-8, without a Content-Encoding.`,
        });
      }
      expect(await patch("{}", { "Content-Encoding": "gzip" })).to.include({ status: 415 });
      const { statuses } = await raw(
        w().url,
        rawRequest(`PATCH ${everyone()}`, [`Service-Session-Token: ${w().owner.token}`, "Content-Length: 2"], "{}"),
      );
      expect(statuses, "without a Content-Type").to.deep.equal([200]);
    });

    it("are limited to 1 MiB", async () => {
      const padded = (bytes: number) => `{"unknown":"${"x".repeat(bytes - 14)}"}`;
      expect(await patch(padded(1024 * 1024))).to.include({ status: 200 });
      const answer = await patch(padded(1024 * 1024 + 1));
      expect(answer).to.include({ status: 413 });
      expect(answer.body).to.deep.equal({
        message: "Request body too large.",
        detail: "At most 1048576 bytes are read.",
      });
      const chunks = Array.from({ length: 40 }, () => `10000\r\n${"x".repeat(0x10000)}\r\n`);
      const head = [
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
        `Service-Session-Token: ${w().owner.token}`,
      ];
      const chunked = await raw(w().url, rawRequest(`PATCH ${everyone()}`, head), ...chunks, "0\r\n\r\n");
      expect(chunked.statuses).to.deep.equal([413]);
    });

    it("are limited to 64 KiB without a valid credential", async () => {
      const padded = (bytes: number) => `{"query":"${" ".repeat(bytes - 12)}"}`;
      const paths = [
        "/api/v2/users/login",
        "/api/v2/users/otp/request",
        "/oauth2/tokens",
        "/oauth2/register",
        "/graphql",
      ];
      for (const path of paths) {
        expect((await w().nobody.post(path, padded(64 * 1024))).status, path).to.equal(400);
        const answer = await w().nobody.post(path, padded(64 * 1024 + 1));
        expect(answer.status, path).to.equal(413);
        expect(JSON.stringify(answer.body), path).to.include("At most 65536 bytes are read.");
      }
      // A credential does not count where none is taken.
      expect(await owner().post("/api/v2/users/login", padded(64 * 1024 + 1))).to.include({ status: 413 });
      expect(await owner().post("/graphql", padded(1024 * 1024))).to.include({ status: 400 });
    });

    it("are not looked at before the credential", async () => {
      const wrong = w().as({ token: "stw_se_0123456789-0123456789012345678901234567890123456789012" });
      for (const client of [w().nobody, wrong])
        for (const body of [
          "{broken",
          `{"x":"${"x".repeat(1024 * 1024)}"}`,
          `{"x":${"[".repeat(65)}${"]".repeat(65)}}`,
        ])
          expect(await client.patch(everyone(), body), body.slice(0, 8)).to.include({ status: 401 });
      expect(await wrong.post("/graphql", "{broken")).to.include({ status: 401 });
    });

    it("are drained when they are too large, so that the connection stays usable", async () => {
      const head = ["PATCH /api/v2/groups/default HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
      const token = `Service-Session-Token: ${w().owner.token}`;
      const chunks = Array.from({ length: 80 }, () => `10000\r\n${"x".repeat(0x10000)}\r\n`);
      const form = ["POST /login HTTP/1.1", "Host: localhost", "Content-Type: application/x-www-form-urlencoded"];
      for (const start of [[...head, token], form]) {
        const tooLarge = [...start, "Transfer-Encoding: chunked", "", ""].join("\r\n");
        const { statuses } = await raw(w().url, tooLarge, ...chunks, "0\r\n\r\n", rawRequest("GET /healthz"));
        expect(statuses, start[0]).to.deep.equal([413, 200]);
      }
    });

    it("are limited to 64 levels of nesting", async () => {
      const nested = (levels: number) => `{"unknown":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
      expect(await patch(nested(64))).to.include({ status: 200 });
      for (const levels of [65, 100_000]) {
        const answer = await patch(nested(levels));
        expect(answer).to.include({ status: 400 });
        expect(answer.body).to.deep.equal({
          message: "Request body must be valid JSON.",
          detail: "It is nested deeper than 64 levels.",
        });
      }
    });

    it("report where malformed JSON breaks, without echoing it", async () => {
      for (const [body, position] of [
        ['{"name": secret}', 9],
        ['{"name": "x", }', 14],
        ['{"name" "x"}', 8],
        ['{"name": "x"', 12],
        ['{"name": "x"}}', 13],
        ['{"name": tru}', 12],
        ['{"name": "\\x"}', 11],
      ] as const) {
        const answer = await patch(body);
        expect(answer.body, body).to.deep.equal({
          message: "Request body must be valid JSON.",
          detail: `It goes wrong at position ${position}.`,
        });
      }
      const long = await patch(`{"name": ${"x".repeat(100_000)}}`);
      expect(long.body).to.deep.equal({ message: "Request body must be valid JSON.", detail: "It is not JSON." });
      for (const bytes of [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), Buffer.from('\u0000{"name":"x"}')]) {
        const head = [`Service-Session-Token: ${w().owner.token}`, `Content-Length: ${bytes.length}`];
        const { statuses } = await raw(w().url, rawRequest(`PATCH ${everyone()}`, head), bytes);
        expect(statuses).to.deep.equal([400]);
      }
    });

    it("have unknown fields, prototype keys, and all but the last duplicate ignored", async () => {
      const name = (await w().group()).name;
      const { id } = (await owner().get(`/api/v2/groups/${name}`)).body;
      const change = `{"display_name": 5, "display_name": "last", "color": 1, "__proto__": {"name": "polluted"}, "constructor": {"prototype": {"name": "x"}}}`;
      const answer = await owner().patch(`/api/v2/groups/${id}`, change);
      expect(answer).to.include({ status: 200 });
      expect(answer.body).to.include({ display_name: "last", name });
      const object = { resource_type: "group", organization_id: "default" };
      const checks = `{"checks": {"__proto__": {"action": "read", "object": {}}, "constructor": 5, "toString": ${JSON.stringify({ action: "read", object })}}}`;
      expect((await owner().post("/api/v2/authcheck", checks)).body).to.deep.equal({ toString: true });
    });

    it("cannot redirect a request to a different object than its path", async () => {
      const named = await w().group();
      const other = await w().group();
      const change = { group: other.id, organization: newId(), display_name: "changed" };
      expect((await owner().patch(`/api/v2/groups/${named.id}`, change)).body).to.include({
        id: named.id,
        display_name: "changed",
      });
      expect((await owner().get(`/api/v2/groups/${other.id}`)).body).to.include({ display_name: "" });
    });

    it("have prototype keys ignored in whatever way they are spelled, at every level", async () => {
      const { id } = await w().group();
      const spellings = ["__proto__", "\\u005f_proto__", "constructor", "\\u0063onstructor", "c\\u006fnstructor"];
      const object = `{"resource_type": "group", "organization_id": "default"}`;
      for (const key of spellings) {
        const checks = `{"checks": {"${key}": {"action": "read", "object": ${object}}, "x": {"action": "read", "object": ${object}}}}`;
        expect((await owner().post("/api/v2/authcheck", checks)).body, key).to.deep.equal({ x: true });
        const [first] = spellings;
        const nested = `{"${key}": {"display_name": "polluted"}, "unknown": [{"${first}": 1}]}`;
        expect((await owner().patch(`/api/v2/groups/${id}`, nested)).body, key).to.include({ display_name: "" });
      }
    });

    it("may have brackets in text, however many", async () => {
      const { id } = await w().group();
      for (const text of [
        "[".repeat(64),
        "{[".repeat(30),
        '"'.repeat(30) + "[".repeat(30),
        "\\".repeat(31) + "[".repeat(30),
        '\\"'.repeat(15) + "{".repeat(30),
      ]) {
        const answer = await owner().patch(`/api/v2/groups/${id}`, { display_name: text, unknown: "[".repeat(1_000) });
        expect(answer.status, text).to.equal(200);
        expect(answer.body.display_name).to.equal(text);
      }
      const hidden = `{"unknown": "\\\\", "x": ${"[".repeat(64)}${"]".repeat(64)}}`;
      expect((await owner().patch(`/api/v2/groups/${id}`, hidden)).body.detail).to.equal(
        "It is nested deeper than 64 levels.",
      );
    });

    it("may use any text as map keys, which are returned unchanged", async () => {
      const keys = ['"', "\\", "\n\t\u0001", "\u2028 é 😀", "</script>"];
      const object = { resource_type: "group", organization_id: "default" };
      const checks = Object.fromEntries(keys.map((key) => [key, { action: "read", object }]));
      expect((await owner().post("/api/v2/authcheck", { checks })).body).to.deep.equal(
        Object.fromEntries(keys.map((key) => [key, true])),
      );
    });

    it("treat null as absent, and coerce no value to another type", async () => {
      const { id, name } = await w().group();
      const path = `/api/v2/groups/${id}`;
      expect((await owner().patch(path, '{"quota_allowance": 1.0, "name": null, "add_users": null}')).body).to.include({
        quota_allowance: 1,
        name,
      });
      for (const quota of ["5", 1.5, true, 2 ** 31, [5], {}]) {
        const answer = await owner().patch(path, { quota_allowance: quota });
        expect(answer.status, JSON.stringify(quota)).to.equal(400);
        expect(fields(answer)).to.deep.equal(["quota_allowance"]);
      }
      expect(await owner().patch(path, '{"quota_allowance": 1e400}')).to.include({ status: 400 });
    });

    it("report a number out of range with the rule of its field, over REST and GraphQL alike", async () => {
      const { id } = await w().group();
      const fromZero = "Must be a whole number from 0 to 2147483647.";
      const fromOne = "Must be a whole number from 1 to 9007199254740991.";
      for (const [quota, limit] of [
        [-1, 0],
        [2 ** 31, 2 ** 53],
        [1.5, "5"],
      ]) {
        const changed = await owner().patch(`/api/v2/groups/${id}`, { quota_allowance: quota });
        expect(changed.body.validations).to.deep.equal([{ field: "quota_allowance", detail: fromZero }]);
        const spent = await owner().put(`/api/v2/groups/${id}/ai/budget`, { spend_limit_micros: limit });
        expect(spent.body.validations).to.deep.equal([{ field: "spend_limit_micros", detail: fromOne }]);
        const { errors } = await owner().failure(
          `mutation($group: String!, $quota: Int) {
             updateGroup(input: { group: $group, quotaAllowance: $quota }) { group { id } } }`,
          { group: id, quota },
        );
        expect(errors[0]!.extensions.validations).to.deep.equal([{ field: "input.quotaAllowance", detail: fromZero }]);
      }
      for (const limit of ["-1", "1001", "99999999999", "x"]) {
        const { body } = await owner().get(`/api/v2/groups/${id}/members?limit=${limit}`);
        expect(body.validations).to.deep.equal([{ field: "limit", detail: "Must be a whole number from 0 to 1000." }]);
      }
    });

    it("are rejected for NUL and lone surrogates anywhere in their text", async () => {
      const { id } = await w().group();
      for (const text of ["a\\u0000b", "\\ud800", "\\udc00x"]) {
        const answer = await owner().patch(
          `/api/v2/groups/${id}`,
          `{"display_name": "${text}", "avatar_url": "${text}", "name": "${text}", "add_users": ["${text}"]}`,
        );
        expect(answer, text).to.include({ status: 400 });
        expect(fields(answer)).to.have.members(["display_name", "avatar_url", "name", "add_users[0]"]);
        expect(await w().nobody.post("/api/v2/users/login", `{"email": "${text}", "password": "${text}"}`)).to.include({
          status: 400,
        });
      }
      for (const path of [
        "/api/v2/groups/%00",
        "/api/v2/groups?organization=%00",
        `${everyone()}/members?q=%00`,
        "/api/v2/organizations/%00/groups/%00",
      ]) {
        const { status } = await owner().get(path);
        expect(status, path).to.be.oneOf([400, 404]);
      }
    });

    it("default to {} where the contract documents no body, and are required elsewhere", async () => {
      const without = (method: string, path: string) => owner().request(method, path);
      await owner().post("/api/v2/notifications/custom", { content: { title: "x", message: "y" } });
      const [{ id }] = (await owner().get("/api/v2/notifications/inbox")).body.notifications;
      const unread = await without("PUT", `/api/v2/notifications/inbox/${id}/read-status`);
      expect(unread).to.include({ status: 400 });
      expect(unread.body.validations).to.deep.equal([{ field: "is_read", detail: "Is required." }]);
      for (const shown of [await without("POST", "/api/v2/authcheck"), await without("PATCH", everyone())]) {
        expect(shown).to.include({ status: 400 });
        expect(shown.body.message).to.equal("Request body must be valid JSON.");
        expect(shown.body.detail).to.equal("A body is required.");
      }
    });

    it("report a missing email, passcode, or password as required", async () => {
      for (const [path, ...expected] of [
        ["/api/v2/users/login", "email", "password"],
        ["/api/v2/users/otp/request", "email"],
        ["/api/v2/users/otp/change-password", "email", "one_time_passcode", "password"],
      ] as const) {
        const { status, body } = await w().nobody.post(path, {});
        expect(status, path).to.equal(400);
        expect(body.validations, path).to.deep.equal(expected.map((field) => ({ field, detail: "Is required." })));
      }
    });

    it("are ignored on routes that read none", async () => {
      expect(await owner().put("/api/v2/notifications/inbox/mark-all-as-read", "{broken")).to.include({ status: 204 });
      expect(await owner().request("DELETE", `/api/v2/groups/${(await w().group()).id}`, "{broken")).to.include({
        status: 200,
      });
    });

    it("have all faulty fields reported together, in the style of REST and of GraphQL", async () => {
      const { id } = await w().group();
      const rest = await owner().patch(`/api/v2/groups/${id}`, {
        display_name: " x",
        quota_allowance: -1,
        add_users: [newId()],
      });
      expect(rest).to.include({ status: 400 });
      expect(rest.body.message).to.equal("Validation failed.");
      expect(fields(rest)).to.have.members(["display_name", "quota_allowance", "add_users[0]"]);
      const { errors } = await owner().failure(
        "mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }",
        { input: { group: id, displayName: " x", quotaAllowance: -1, addUsers: [newId()] } },
      );
      const named = (errors[0]!.extensions.validations as Array<{ field: string }>).map(({ field }) => field);
      expect(named).to.have.members(["input.displayName", "input.quotaAllowance", "input.addUsers[0]"]);
    });

    it("with 100000 faults have the first 1000 reported", async () => {
      const { id } = await w().group();
      const addUsers = Array.from({ length: 100_000 }, () => "x");
      const told = { detail: "At most 1000 faults are reported." };
      const rest = await owner().patch(`/api/v2/groups/${id}`, { add_users: addUsers });
      expect(rest).to.include({ status: 400 });
      expect(rest.body).to.include(told);
      expect(fields(rest)).to.deep.equal(Array.from({ length: 1000 }, (_, n) => `add_users[${n}]`));
      const { errors } = await owner().failure(
        "mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }",
        { input: { group: id, addUsers } },
      );
      expect(errors[0]!.extensions).to.include(told);
      expect(errors[0]!.extensions.validations).to.have.length(1000);
    });

    it("have long map keys truncated in field names", async () => {
      const checks = { ["k".repeat(100_000)]: { action: 1 } };
      const answer = await owner().post("/api/v2/authcheck", { checks });
      expect([...new Set(fields(answer))]).to.deep.equal([`checks.${"k".repeat(293)}…`]);
    });
  });

  describe("query strings", () => {
    const invalid = "Query parameters have invalid values.";

    it("have unknown and empty parameters ignored", async () => {
      expect(await owner().get("/api/v2/groups?nothing=1&nothing=2&organization=&group_ids=&limit=")).to.include({
        status: 200,
      });
    });

    it("may repeat a parameter only where it is a list", async () => {
      const answer = await owner().get(
        "/api/v2/groups?organization=default&organization=default&has_member=me&has_member=me",
      );
      expect(answer).to.include({ status: 400 });
      expect(answer.body.message).to.equal(invalid);
      expect(fields(answer)).to.have.members(["organization", "has_member"]);
      const one = await w().group();
      const two = await w().group();
      for (const list of [
        `group_ids=${one.id},${two.id}`,
        `group_ids=${one.id}&group_ids=${two.id}`,
        `group_ids=${one.id.toUpperCase()},,&group_ids=${two.id}`,
      ]) {
        const found = (await owner().get(`/api/v2/groups?${list}`)).body.map(({ id }: { id: string }) => id);
        expect(found).to.have.members([one.id, two.id]);
      }
    });

    it("accept booleans in six spellings, in any letter case", async () => {
      const members = async (value: string) =>
        (await owner().get(`${everyone()}?exclude_members=${value}`)).body.members;
      for (const yes of ["true", "TRUE", "1", "t", "T"]) expect(await members(yes), yes).to.deep.equal([]);
      for (const no of ["false", "False", "0", "f", ""]) expect(await members(no), no).to.have.length.greaterThan(0);
      for (const bad of ["yes", "2", "tru", "null"]) {
        const answer = await owner().get(`${everyone()}?exclude_members=${bad}`);
        expect(answer.body.message, bad).to.equal(invalid);
        expect(fields(answer)).to.deep.equal(["exclude_members"]);
      }
    });

    it("enforce bounds on limits and offsets", async () => {
      const members = (query: string) => owner().get(`${everyone()}/members?${query}`);
      for (const good of ["limit=0", "limit=1", "limit=1000", "offset=0", "offset=2147483647"])
        expect(await members(good), good).to.include({ status: 200 });
      for (const [bad, field] of [
        ["limit=-1", "limit"],
        ["limit=1001", "limit"],
        ["limit=x", "limit"],
        ["limit=1.5", "limit"],
        ["limit=1e2", "limit"],
        ["limit=01", "limit"],
        ["limit=-0", "limit"],
        ["offset=-1", "offset"],
        ["offset=2147483648", "offset"],
        ["after_id=x", "after_id"],
      ] as const) {
        const answer = await members(bad);
        expect(answer, bad).to.include({ status: 400 });
        expect(answer.body.message, bad).to.equal(invalid);
        expect(fields(answer), bad).to.deep.equal([field]);
      }
      expect(fields(await members("limit=x&offset=-&after_id=")), "all reported together").to.have.members([
        "limit",
        "offset",
      ]);
    });
  });
});
