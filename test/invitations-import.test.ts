// Files of people who are invited together.
import { expect } from "chai";
import { code } from "./support/accounts.js";
import { accept, invite, mutate, newEmail } from "./support/invitations.js";
import { type Client, world } from "./support/world.js";

interface Imported {
  invitedCount: number;
  rows: Array<{
    line: number;
    email: string;
    name: string;
    link: string | null;
    faults: Array<{ column: string; detail: string }>;
  }>;
}

const document = `mutation($input: ImportInvitationsInput!) {
  importInvitations(input: $input) { invitedCount rows { line email name link faults { column detail } } } }`;

describe("imports of invitations", () => {
  const the = world();
  const owner = () => the().as(the().owner);
  const importing = (csv: string, more: object = {}, client: Client = owner()): Promise<Imported> =>
    client
      .graphql(document, { input: { csv, delivery: "LINK", ...more } })
      .then(({ importInvitations }) => importInvitations as Imported);
  const preview = (csv: string, client?: Client) => importing(csv, { isPreview: true }, client);
  const openCount = async (): Promise<number> =>
    (await owner().graphql("{ invitations { totalCount } }")).invitations.totalCount;
  const faultOf = async (csv: string): Promise<string> => {
    const { code: is, errors } = await owner().failure(document, { input: { csv } });
    expect(is).to.equal("BAD_USER_INPUT");
    return errors[0]!.extensions.validations.map(({ detail }: { detail: string }) => detail).join(" ");
  };

  it("give each person the organizations, groups, and roles of its row", async () => {
    const w = the();
    const { name: lab } = await w.organization("lab");
    const team = await w.group("team-of-import");
    const one = newEmail();
    const two = newEmail();
    const { rows, invitedCount } = await importing(
      `\ufeffEmail;Name;Organizations;Groups;Roles\r\n` +
        `${one};"Lovelace; ""Ada""";"main;lab";main/${team.name};"auditor;lab/organization-auditor"\r\n` +
        `\r\n${two};;;;\r\n`,
    );
    expect(invitedCount).to.equal(2);
    expect(rows.map(({ line, email, name, faults }) => [line, email, name, faults.length])).to.deep.equal([
      [2, one, 'Lovelace; "Ada"', 0],
      [4, two, "", 0],
    ]);
    const { user } = await accept(w.nobody, rows[0]!.link);
    const { user: seen } = await owner().graphql(
      `{ user(user: "${user.id}") { name organizations { name } groups { nodes { name } } roles { name } } }`,
    );
    expect(seen.name).to.equal('Lovelace; "Ada"');
    expect(seen.organizations.map(({ name }: { name: string }) => name)).to.have.members(["main", lab]);
    expect(seen.groups.nodes.map(({ name }: { name: string }) => name)).to.include(team.name);
    expect(seen.roles.map(({ name }: { name: string }) => name)).to.deep.equal(["AUDITOR", "ORGANIZATION_AUDITOR"]);
    const { user: plain } = await accept(w.nobody, rows[1]!.link);
    expect(plain.organizationIds).to.deep.equal([w.defaultOrganization]);
  });

  it("show the faults of every row in a preview, and invite no one while there are any", async () => {
    const w = the();
    const ada = await w.user("ada");
    const { invitation } = await invite(owner());
    const email = newEmail();
    const csv = [
      "email,name,organizations,groups,roles",
      `${email},Fine,,,`,
      `${ada.email},,,,`,
      `${invitation.email},,,,`,
      `${email.toUpperCase()},,,,`,
      "none,,missing,nothing,nobody;missing/organization-auditor;main/organization-auditor",
      "short@example.com",
    ].join("\n");
    const before = await openCount();
    const { rows, invitedCount } = await preview(csv);
    expect(invitedCount).to.equal(0);
    const columns = rows.map(({ faults }) => faults.map(({ column }) => column));
    expect(columns).to.deep.equal([
      [],
      ["email"],
      ["email"],
      ["email"],
      ["roles", "email", "roles", "organizations", "groups"],
      [""],
    ]);
    expect(rows[3]!.faults[0]!.detail).to.equal("Is in line 2 already.");
    const said = await faultOf(csv);
    expect(said).to.contain("Line 3, email: This email is in use.").and.contain("Line 7: Must have as many cells");
    expect(await openCount()).to.equal(before);
    expect((await preview(`email\n${email}\n`)).rows[0]!.faults).to.deep.equal([]);
  });

  it("leave out rows without any text, and count them in the numbers of lines", async () => {
    const { rows } = await preview(`email,name\n,\n  \n${newEmail()},Ada\n" ",\t\nx,y\n,,,\n`);
    expect(rows.map(({ line, faults }) => [line, faults.length])).to.deep.equal([
      [4, 0],
      [6, 1],
    ]);
  });

  it("say what is wrong with the file itself", async () => {
    for (const [csv, fault] of [
      ["", "Must have a line with the names of the columns."],
      ["email\n", "Must have at least one row"],
      ["name\nAda", "Must have a column named email."],
      ["email,phone\na@example.com,1", 'Has the unknown column "phone".'],
      ["email,Email\na@example.com,b@example.com", 'Has the column "email" twice.'],
      ['email\n"a@example.com', "Line 2 has a quotation mark that is not closed."],
      ['email\n"a"@example.com', "Line 2 has text after a closing quotation mark."],
      [`email\n${"a@example.com\n".repeat(1001)}`, "Must have at most 1000 rows."],
      ["email\n" + "x".repeat(400_000), "Must be at most 400000 characters."],
    ] as const)
      expect(await faultOf(csv), fault).to.contain(fault);
  });

  it("take no hostile text for more than text", async () => {
    for (const text of ["\0", "\ud800"])
      expect(await code(owner(), document, { input: { csv: `email\n${text}@example.com` } })).to.equal(
        "BAD_USER_INPUT",
      );
    const hostile = [`${"a".repeat(300)}@example.com`, "=1+1", "__proto__"];
    const { rows } = await preview(`email,name\n${hostile.map((email) => `"${email}",\u202eevil`).join("\n")}`);
    expect(rows).to.have.length(hostile.length);
    for (const { faults } of rows) expect(faults.map(({ column }) => column)).to.deep.equal(["email", "name"]);
    const { rows: odd } = await preview("__proto__,email\n1,a@example.com").catch(() => ({ rows: [] }));
    expect(odd).to.deep.equal([]);
  });

  it("report roles that the caller may not give as faults of their rows", async () => {
    const w = the();
    const userAdmin = await w.user("uadmin");
    await w.grant(userAdmin, "user-admin");
    const client = w.as(userAdmin);
    const csv = `email,roles\n${newEmail()},owner\n${newEmail()},main/organization-admin\n${newEmail()},main/organization-user-admin`;
    const { rows } = await preview(csv, client);
    expect(rows.map(({ faults }) => faults.map(({ column }) => column))).to.deep.equal([["roles"], ["roles"], []]);
    expect(await code(client, document, { input: { csv } })).to.equal("BAD_USER_INPUT");
  });

  it("invite a thousand people at a time, and list them", async () => {
    const emails = Array.from({ length: 1000 }, (_, n) => `crowd-${n}@example.com`);
    const { rows, invitedCount } = await importing(`email\n${emails.join("\n")}`);
    expect(invitedCount).to.equal(1000);
    expect(new Set(rows.map(({ link }) => link)).size).to.equal(1000);
    const listed = `{ invitations(filter: { search: "crowd-" }) { totalCount } }`;
    expect((await owner().graphql(listed)).invitations.totalCount).to.equal(1000);
    expect(
      await mutate(owner(), "revokeInvitation", { id: (await invite(owner())).invitation.id }, "__typename"),
    ).to.be.an("object");
  });
});
