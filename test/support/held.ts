// Searches the object graph for secrets, private fields included, through the debugger protocol.
import { Session } from "node:inspector/promises";

/** Maximum number of visited objects. */
const most = 20_000;

/**
 * Whether any text or bytes reachable from `root` contain `wanted`. Private fields count; properties listed in
 * `without` are skipped.
 */
export async function holds(root: object, wanted: string, without: readonly string[] = []): Promise<boolean> {
  const session = new Session();
  session.connect();
  const probe = globalThis as { held?: { root: object; wanted: string } };
  probe.held = { root, wanted };
  try {
    const { result } = await session.post("Runtime.evaluate", { expression: "globalThis.held.root" });
    const queue = [result.objectId!];
    const seen = new Set<number>();
    for (let objectId = queue.pop(); objectId !== undefined; objectId = queue.pop()) {
      const {
        result: own,
        internalProperties = [],
        ...rest
      } = await session.post("Runtime.getProperties", {
        objectId,
        ownProperties: true,
      });
      const { privateProperties = [] } = rest as { privateProperties?: typeof own };
      for (const { name, value } of [...own, ...internalProperties, ...privateProperties]) {
        if (!value || without.includes(name) || /^\[\[(Prototype|Scopes|FunctionLocation)/.test(name)) continue;
        if (value.type === "string" && (value.value as string).includes(wanted)) return true;
        if (value.objectId === undefined || value.type === "function") continue;
        const { result: found } = await session.post("Runtime.callFunctionOn", {
          objectId: value.objectId,
          returnByValue: true,
          functionDeclaration: `function () {
            if (ArrayBuffer.isView(this)) return Buffer.from(this.buffer, this.byteOffset, this.byteLength).includes(held.wanted);
            held.numbers ??= new Map();
            if (!held.numbers.has(this)) held.numbers.set(this, held.numbers.size);
            return held.numbers.get(this);
          }`,
        });
        if (found.value === true) return true;
        if (found.value === false || seen.has(found.value as number)) continue;
        seen.add(found.value as number);
        if (seen.size > most) throw new Error("There are too many objects to visit.");
        queue.push(value.objectId);
      }
    }
    return false;
  } finally {
    delete probe.held;
    session.disconnect();
  }
}
