// SCIM resources that are generated from the schemas alone, as conformance checkers make them.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { type ScimClient, scimClient } from "../support/scim.js";
import { world } from "../support/world.js";

interface Attribute {
  name: string;
  type: string;
  multiValued: boolean;
  required: boolean;
  mutability: "readOnly" | "readWrite" | "writeOnly" | "immutable";
  returned: "always" | "default" | "never" | "request";
  canonicalValues?: string[];
  referenceTypes?: string[];
  subAttributes?: Attribute[];
}

interface Schema {
  id: string;
  name: string;
  attributes: Attribute[];
}

interface ResourceType {
  id: string;
  name: string;
  endpoint: string;
  schema: string;
  schemaExtensions?: Array<{ schema: string }>;
}

type Values = Record<string, unknown>;

/** Removing `active` sets it to false instead, and providers rely on that. */
const setInstead = new Set(["active"]);

describe("SCIM resources made from the schemas", () => {
  const w = world();
  let scim: ScimClient;
  let types: ResourceType[];
  let schemas: Map<string, Schema>;
  before(async () => {
    scim = await scimClient(w());
    types = (await scim.get("/ResourceTypes")).body.Resources;
    schemas = new Map((await scim.get("/Schemas")).body.Resources.map((schema: Schema) => [schema.id, schema]));
  });

  const isWritable = ({ mutability }: Attribute) => mutability !== "readOnly";

  /** A random value of an attribute. A value with a reference is the last segment of its URL. */
  async function valueOf(attribute: Attribute, path: string, onlyRequired = false): Promise<unknown> {
    const one = await singleOf(attribute, path, onlyRequired);
    return attribute.multiValued ? [one] : one;
  }

  async function singleOf(attribute: Attribute, path: string, onlyRequired: boolean): Promise<unknown> {
    const { type, canonicalValues = [], referenceTypes = [], subAttributes = [] } = attribute;
    if (path === "emails.value") return `${newId()}@x.example`;
    if (canonicalValues[0]) return canonicalValues[0];
    switch (type) {
      case "boolean":
        return true;
      case "binary":
        return Buffer.from(newId()).toString("base64");
      case "reference": {
        const referred = types.find(({ name }) => referenceTypes.includes(name));
        return referred ? ((await create(referred)).meta as Values).location : `https://${newId()}.example`;
      }
      case "complex": {
        const values: Values = {};
        for (const sub of subAttributes)
          if (isWritable(sub) && (sub.required || !onlyRequired))
            values[sub.name] = await valueOf(sub, `${path}.${sub.name}`, onlyRequired);
        const reference = values.$ref as string | undefined;
        return { ...values, ...(reference && { value: reference.split("/").at(-1) }) };
      }
      default:
        return newId();
    }
  }

  /** A resource with its required attributes, or with all that can be written. */
  async function documentOf({ schema, schemaExtensions = [] }: ResourceType, isWhole = false): Promise<Values> {
    const ids = [schema, ...(isWhole ? schemaExtensions.map((each) => each.schema) : [])];
    const document: Values = { schemas: ids };
    for (const id of ids) {
      const into = id === schema ? document : ((document[id] = {}) as Values);
      for (const attribute of schemas.get(id)!.attributes)
        if (isWritable(attribute) && (attribute.required || isWhole))
          into[attribute.name] = await valueOf(attribute, attribute.name, !isWhole);
    }
    return document;
  }

  async function create(type: ResourceType, isWhole = false): Promise<Values> {
    const document = await documentOf(type, isWhole);
    const { status, body } = await scim.post(type.endpoint, document);
    expect(status, `${JSON.stringify(document)}: ${JSON.stringify(body)}`).to.equal(201);
    return body as Values;
  }

  /** The attributes of a resource by the path of a change. */
  function* attributesOf({ schema, schemaExtensions = [] }: ResourceType) {
    for (const attribute of schemas.get(schema)!.attributes) yield { path: attribute.name, attribute };
    for (const { schema: urn } of schemaExtensions)
      for (const attribute of schemas.get(urn)!.attributes) yield { path: `${urn}:${attribute.name}`, attribute };
  }

  const at = (resource: Values, path: string): unknown => {
    const split = path.lastIndexOf(":");
    return split < 0 ? resource[path] : (resource[path.slice(0, split)] as Values | undefined)?.[path.slice(split + 1)];
  };

  /** A value without the sub-attributes that only the server sets. */
  function written({ subAttributes = [] }: Attribute, value: unknown): unknown {
    const readOnly = new Set(subAttributes.filter((sub) => !isWritable(sub)).map(({ name }) => name));
    const part = (each: unknown) =>
      typeof each === "object" && each !== null
        ? Object.fromEntries(Object.entries(each).filter(([name]) => !readOnly.has(name)))
        : each;
    return Array.isArray(value) ? value.map(part) : part(value);
  }

  const pathTo = ({ endpoint }: ResourceType, { id }: Values) => `${endpoint}/${id as string}`;
  const named = (name: string) => types.find((type) => type.name === name)!;

  for (const name of ["User", "Group"])
    describe(`of the type ${name}`, () => {
      it("are created with the required attributes alone, read, listed, and deleted", async () => {
        const type = named(name);
        const made = await create(type);
        expect((await scim.get(pathTo(type, made))).body).to.deep.equal(made);
        const { Resources } = (await scim.get(`${type.endpoint}?count=1000`)).body;
        expect(Resources.map(({ id }: Values) => id)).to.include(made.id);
        expect(await scim.delete(pathTo(type, made))).to.include({ status: 204 });
        expect(await scim.get(pathTo(type, made))).to.include({ status: 404 });
      });

      it("are not created without a required attribute, unless another one stands for it", async () => {
        const type = named(name);
        for (const { attribute, path } of attributesOf(type)) {
          if (!attribute.required) continue;
          const { [path]: _, ...rest } = await documentOf(type);
          const { status, body } = await scim.post(type.endpoint, rest);
          expect([status, body.scimType], path).to.deep.equal([400, "invalidValue"]);
        }
        for (const { attribute, path } of attributesOf(type))
          for (const sub of attribute.subAttributes ?? []) {
            if (!sub.required) continue;
            const [value] = (await valueOf(attribute, path)) as Values[];
            const { [sub.name]: _, ...rest } = value!;
            const { status, body } = await scim.post(type.endpoint, { ...(await documentOf(type)), [path]: [rest] });
            expect([status, body.scimType], `${path}.${sub.name}`).to.deep.equal([400, "invalidValue"]);
          }
      });

      it("keep what is written to each attribute, by creation, replacement, and changes", async () => {
        const type = named(name);
        const document = await documentOf(type, true);
        const { status, body } = await scim.post(type.endpoint, document);
        expect(status, JSON.stringify(body)).to.equal(201);
        const replacement = await documentOf(type, true);
        const put = await scim.put(pathTo(type, body), replacement);
        expect(put.status, JSON.stringify(put.body)).to.equal(200);
        const minimal = await create(type);
        for (const { attribute, path } of attributesOf(type)) {
          if (!isWritable(attribute)) continue;
          const expectKept = (resource: Values, value: unknown, label: string) => {
            const kept = attribute.returned === "never" ? undefined : value;
            expect(written(attribute, at(resource, path)), `${label} ${path}`).to.deep.equal(kept);
          };
          expectKept(body, at(document, path), "creation of");
          expectKept(put.body, at(replacement, path), "replacement of");
          for (const op of attribute.required ? ["replace"] : ["add", "replace"]) {
            const value = await valueOf(attribute, path);
            const changed = await scim.change(pathTo(type, minimal), { op, path, value });
            expect(changed.status, `${op} ${path}: ${JSON.stringify(changed.body)}`).to.be.oneOf([200, 204]);
            expectKept((await scim.get(pathTo(type, minimal))).body, value, op);
            if (op === "add") await scim.change(pathTo(type, minimal), { op: "remove", path });
          }
        }
      });

      it("lose each attribute that is removed, and no required one", async () => {
        const type = named(name);
        const whole = await create(type, true);
        for (const { attribute, path } of attributesOf(type)) {
          if (!isWritable(attribute)) continue;
          const { status, body } = await scim.change(pathTo(type, whole), { op: "remove", path });
          if (attribute.required) {
            expect([status, body.scimType], path).to.deep.equal([400, "invalidValue"]);
            continue;
          }
          expect(status, `${path}: ${JSON.stringify(body)}`).to.be.oneOf([200, 204]);
          const left = at((await scim.get(pathTo(type, whole))).body, path);
          expect(left, path).to.equal(setInstead.has(path) ? false : undefined);
        }
      });

      it("ignore what is read-only in documents, and refuse to change it, or what is immutable, by its path", async () => {
        const type = named(name);
        const made = await create(type);
        for (const { attribute, path } of attributesOf(type)) {
          if (!isWritable(attribute)) {
            const { status, body } = await scim.change(pathTo(type, made), { op: "replace", path, value: "x" });
            expect([status, body.scimType], path).to.deep.equal([400, "mutability"]);
          }
          for (const { name: sub, mutability } of attribute.subAttributes ?? []) {
            if (mutability !== "immutable") continue;
            const subPath = `${path}.${sub}`;
            const { status, body } = await scim.change(pathTo(type, made), {
              op: "replace",
              path: subPath,
              value: "x",
            });
            expect([status, body.scimType], subPath).to.deep.equal([400, "mutability"]);
          }
        }
        const put = await scim.put(pathTo(type, made), { ...made, id: newId(), groups: [{ value: newId() }] });
        expect(put.body).to.deep.equal(made);
      });

      it("have only declared attributes, and select them by name", async () => {
        const type = named(name);
        const whole = await create(type, true);
        const path = pathTo(type, whole);
        const common = new Set(["schemas", "id", "externalId", "meta"]);
        for (const key of Object.keys(whole).filter((each) => !common.has(each) && !schemas.has(each))) {
          const attribute = schemas.get(type.schema)!.attributes.find((each) => each.name === key);
          expect(attribute, key).to.be.an("object");
          const subs = attribute!.subAttributes?.map((each) => each.name) ?? [];
          const values = [whole[key]].flat().filter((each) => typeof each === "object") as Values[];
          for (const value of values) expect(subs, key).to.include.members(Object.keys(value));
          const only = (await scim.get(`${path}?attributes=${key}`)).body;
          expect(only).to.have.all.keys("schemas", "id", key);
          for (const body of [
            (await scim.get(`${path}?excludedAttributes=${key}`)).body,
            (await scim.get(`${type.endpoint}?count=1000&excludedAttributes=${key}`)).body.Resources.find(({ id }: Values) => id === whole.id),
          ])
            expect(body).to.include({ id: whole.id }).and.not.have.property(key);
          const listed = (await scim.post(`${type.endpoint}/.search`, { count: 1000, attributes: [key] })).body.Resources;
          expect(listed.find(({ id }: Values) => id === whole.id)).to.have.property(key);
        }
      }); // oxfmt-ignore
    });

  it("are described by schemas and types that can be read alone, and by no other method", async () => {
    for (const [path, ids] of [["/Schemas", [...schemas.keys()]], ["/ResourceTypes", types.map(({ id }) => id)]] as const) {
      for (const id of ids) expect((await scim.get(`${path}/${id}`)).body, id).to.include({ id });
      expect((await scim.get(`${path}/${newId()}`)).body).to.include({ status: "404" });
      for (const method of ["POST", "PUT", "PATCH", "DELETE"])
        expect(await scim.request(method, path), `${method} ${path}`).to.include({ status: 405 });
    } // oxfmt-ignore
    for (const { schema, schemaExtensions = [] } of types)
      for (const id of [schema, ...schemaExtensions.map((each) => each.schema)])
        expect([...schemas.keys()]).to.include(id);
    const { body, status } = await scim.get(`/${newId()}`);
    expect([status, body.status]).to.deep.equal([404, "404"]);
  });

  it("declare what is required and what cannot be changed", () => {
    const declared = (urn: string, path: string) => {
      const [name, sub] = path.split(".");
      const attribute = schemas.get(urn)!.attributes.find((each) => each.name === name)!;
      return sub ? attribute.subAttributes!.find((each) => each.name === sub)! : attribute;
    };
    const user = named("User").schema;
    const group = named("Group").schema;
    for (const path of ["userName", "emails", "emails.value"])
      expect(declared(user, path).required, path).to.equal(true);
    for (const path of ["phoneNumbers", "phoneNumbers.value", "photos.value", "active"])
      expect(declared(user, path).required, path).to.equal(false);
    for (const path of ["displayName", "members.value"]) expect(declared(group, path).required, path).to.equal(true);
    for (const path of ["members.value", "members.$ref", "members.type"])
      expect(declared(group, path).mutability, path).to.equal("immutable");
    expect(declared(group, "members.display").mutability).to.equal("readOnly");
  });
});
