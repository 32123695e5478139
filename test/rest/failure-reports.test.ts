// Weekly reports of failed builds, of more templates than are reported at a time.
import { expect } from "chai";
import { reportWeek } from "../support/background.js";
import { boxOf, createBox, endBuild, templateOf } from "../support/builds.js";
import { withTimeLeft } from "../support/clock.js";
import { sharedWorld } from "../support/world.js";

/** How many reports are sent at a time. */
const mostReports = 50;

const shared = sharedWorld();

describe("the reports of failed builds", () => {
  const w = shared();

  it("reach the administrators of an organization, although many templates of others have none", async () => {
    // All builds are of one week, and a week ends with a day.
    await withTimeLeft(86_400_000, 100_000);
    const { owner } = w();
    const side = await w().organization("side");
    const administrator = await w().user("administrator");
    const place = { organization: side.id, user: administrator.id };
    const join = `mutation($organization: String!, $user: String!) {
      addOrganizationMember(input: { organization: $organization, user: $user }) { __typename } }`;
    const appoint = `mutation($organization: String!, $user: String!) {
      setOrganizationMemberRoles(input: { organization: $organization, user: $user, roles: [ORGANIZATION_TEMPLATE_ADMIN] }) {
        __typename } }`;
    for (const mutation of [join, appoint]) await w().as(owner).graphql(mutation, place);
    const failingIn = async (organization: string) => {
      const template = await templateOf(w(), boxOf(), { organization });
      const { workspaceBuild } = await createBox(w(), administrator, template.id);
      await endBuild(w(), workspaceBuild.id, "failed");
      return template;
    };
    for (let nr = 0; nr < mostReports; nr++) await failingIn(w().defaultOrganization);
    const { name } = await failingIn(side.id);
    await reportWeek(w().app);
    const { body } = await w().as(administrator).get("/api/v2/notifications/inbox");
    const titles = body.notifications.map(({ title }: { title: string }) => title.replaceAll("\\", ""));
    expect(titles).to.include(`Failed builds of the template ${name}`);
  });
});
