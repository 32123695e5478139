// Language models in the console: the MCP server, its tools, and the programs that use it.
import { expect } from "chai";
import { consoleTests } from "../support/console.js";
import { callTool, program } from "../support/mcp.js";

describe("language models in the console", () => {
  const console = consoleTests();

  it("use tools that owners allow, which are forbidden and allowed again with a button", async () => {
    const { world: w, asOwner, row, page, text, button } = console();
    const ada = await w.user("ada");
    const { token } = await program(w, ada);
    const listed = async (): Promise<boolean> => {
      const { error } = await callTool(w, token, "read_inbox");
      return error === undefined;
    };
    await asOwner("/language-models");
    await text(`${w.app.services.config.accessUrl}/mcp`);
    await row(/1 user/)
      .first()
      .waitFor();
    const tool = row(/Read inbox/);
    await tool.getByRole("button", { name: /Forbid/ }).click();
    await tool.getByText("Forbidden").waitFor();
    expect(await listed()).to.equal(false);
    await tool.getByRole("button", { name: /Allow/ }).click();
    await tool.getByText("Allowed").waitFor();
    expect(await listed()).to.equal(true);
    await button("Switch off").click();
    await page.getByText("The MCP server is off: no program can use it.").waitFor();
    expect((await callTool(w, token, "who_am_i")).status).to.equal(404);
    await button("Switch on").click();
    await button("Switch off").waitFor();
    expect((await callTool(w, token, "who_am_i")).status).to.equal(200);
  });
});
