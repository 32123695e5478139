// The labels and hints of the console are written for people: none is a description of the schema, which is for developers.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { buildSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType } from "graphql";

const home = "clients/console/src";

/** The descriptions of all types, fields, and arguments, as forms could show them: also without the marks of code. */
function descriptions(): Set<string> {
  const schema = buildSchema(readFileSync("schema.graphql", "utf8"));
  const all = Object.values(schema.getTypeMap()).flatMap((type) => [
    type,
    ...(isEnumType(type) ? type.getValues() : []),
    ...(isInputObjectType(type) ? Object.values(type.getFields()) : []),
    ...(isObjectType(type) || isInterfaceType(type)
      ? Object.values(type.getFields()).flatMap((field) => [field, ...field.args])
      : []),
  ]);
  const texts = all.flatMap(({ name, description }) => (name.startsWith("__") || !description ? [] : [description]));
  return new Set(texts.map(plain));
}

const plain = (text: string): string =>
  text
    .replaceAll("`", "")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/ Default: [^.]*\.$/, "")
    .replace(/\.$/, "");

/** The texts of more than two words in a module: its strings, and what stands between its elements. */
const textsOf = (source: string): string[] =>
  [
    ...source.matchAll(/"((?:\\.|[^"\\\n])*)"/g),
    ...source.matchAll(/`((?:\\.|[^`\\])*)`/g),
    ...source.matchAll(/(?<=[>}])([^<>{}]+)(?=[<{])/g),
  ]
    .map(([, text]) => plain(text!.replaceAll('\\"', '"')))
    .filter((text) => text.split(" ").length > 2);

describe("the texts of the console", () => {
  const files = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));

  it("are no descriptions of the schema, in any form", () => {
    const known = descriptions();
    const copied = files.flatMap((file) =>
      textsOf(readFileSync(join(home, file), "utf8"))
        .filter((text) => known.has(text))
        .map((text) => `${file}: ${text}`),
    );
    expect(copied).to.deep.equal([]);
  });

  it("would be found if they were, in a field, in what is generated, and between elements", () => {
    const description = "Name of the application, at most 64 characters";
    expect(descriptions().has(description)).to.equal(true);
    for (const source of [
      `{ name: "applicationName", hint: "${description}." }`,
      `"applicationName":{"type":"String","hint":"${description}."}`,
      `<p>\n  ${description}.\n</p>`,
    ])
      expect(textsOf(source), source).to.include(description);
  });
});
