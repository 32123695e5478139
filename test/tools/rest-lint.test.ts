// The recommended rules of two linters of OpenAPI descriptions, on the description of a running server.
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral, { type RulesetDefinition } from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { expect } from "chai";
import { world } from "../support/world.js";

/** Whether a place is in the responses of the operation that switches protocols, which has no 2xx status. */
const switchesProtocols = (place = "") => /provisionerdaemons.*serve.*responses$/.test(place);

describe("linters of OpenAPI descriptions", () => {
  // Redocly warns of a server at localhost.
  const w = world({ STEWARD_ACCESS_URL: "https://steward.example.org" });
  let source: string;
  before(async () => {
    source = JSON.stringify((await w().nobody.get("/openapi.json")).body);
  });

  it("find nothing by the recommended rules of Redocly", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({ source, absoluteRef: "/openapi.json", config });
    expect(
      problems
        .filter(({ location }) => !switchesProtocols(location[0]?.pointer))
        .map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`),
    ).to.deep.equal([]);
  });

  it("find nothing by the rules of Spectral for OpenAPI", async () => {
    const linter = new spectral.Spectral();
    linter.setRuleset({ extends: [[rulesets.oas as RulesetDefinition, "recommended"]] });
    const problems = await linter.run(source);
    const found = problems
      .filter(({ path }) => !switchesProtocols(path.join(".")))
      .map(({ code, message, path }) => `${code}: ${message} (${path.join(".")})`);
    expect(found.join("\n")).to.equal("");
  });
});
