// An authenticator of passkeys in software: Web Authentication by itself, so that the server is checked by another
// implementation, and gets what no browser would send.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { type Anything, type Client, userPassword } from "./world.js";

/** How an authenticator and its browser differ from right ones. */
export interface Deviation {
  origin?: string;
  /** The relying party that is signed. */
  rpId?: string;
  challenge?: string;
  type?: string;
  /** Whether the user was verified, by a PIN or a finger. Default: true. */
  isVerified?: boolean;
  isPresent?: boolean;
  /** The count of uses. Default: one more. */
  count?: number;
  userHandle?: string;
  /** The ID that is sent in place of the own one. */
  id?: string;
  signature?: Buffer;
  crossOrigin?: boolean;
}

const sha256 = (data: string | Buffer): Buffer => createHash("sha256").update(data).digest();

/** Encodes what authenticators need of CBOR (RFC 8949): integers, bytes, texts, and maps. */
function cbor(value: number | string | Buffer | Map<number | string, unknown>): Buffer {
  const head = (major: number, size: number) =>
    size < 24
      ? Buffer.from([(major << 5) | size])
      : size < 256
        ? Buffer.from([(major << 5) | 24, size])
        : Buffer.from([(major << 5) | 25, size >> 8, size & 255]);
  if (typeof value === "number") return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (!(value instanceof Map)) return Buffer.concat([head(2, value.length), value]);
  const entries = [...value].flatMap(([key, each]) => [cbor(key), cbor(each as never)]);
  return Buffer.concat([head(5, value.size), ...entries]);
}

const base64url = (data: Buffer): string => data.toString("base64url");

/** A passkey: ES256, with a count of its uses. */
export class SoftPasskey {
  readonly credentialId = randomBytes(32);
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  count = 0;
  userHandle: string | undefined;

  /** Passkeys that do not count send 0. */
  constructor(readonly counts = true) {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#privateKey = pair.privateKey;
    this.#publicKey = pair.publicKey;
  }

  #clientData(options: Anything, type: string, origin: string, more: Deviation): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: more.type ?? type,
        challenge: more.challenge ?? options.challenge,
        origin: more.origin ?? origin,
        crossOrigin: more.crossOrigin ?? false,
      }),
    );
  }

  #authenticatorData(rpId: string, { isVerified = true, isPresent = true, ...more }: Deviation, key?: Buffer): Buffer {
    this.count = more.count ?? (this.counts ? this.count + 1 : 0);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(this.count);
    const flags = (isPresent ? 0x01 : 0) | (isVerified ? 0x04 : 0) | (key ? 0x40 : 0);
    return Buffer.concat([sha256(more.rpId ?? rpId), Buffer.from([flags]), count, key ?? Buffer.alloc(0)]);
  }

  /** Responds to options of `beginPasskey`, as a browser at an origin does. */
  create(
    options: Anything,
    origin: string,
    more: Deviation & { statement?: Map<string, unknown>; form?: string } = {},
  ) {
    const { x, y } = this.#publicKey.export({ format: "jwk" });
    const key = cbor(
      new Map<number, number | Buffer>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x!, "base64url")],
        [-3, Buffer.from(y!, "base64url")],
      ]),
    );
    this.userHandle = options.user.id;
    const id = base64url(this.credentialId);
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, 32]), this.credentialId, key]);
    const attestationObject = cbor(
      new Map<string, unknown>([
        ["fmt", more.form ?? "none"],
        ["attStmt", more.statement ?? new Map()],
        ["authData", this.#authenticatorData(options.rp.id, more, attested)],
      ]),
    );
    return JSON.stringify({
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON: base64url(this.#clientData(options, "webauthn.create", origin, more)),
        attestationObject: base64url(attestationObject),
        transports: ["internal", "hybrid", "nonsense"],
      },
      clientExtensionResults: {},
      authenticatorAttachment: "platform",
    });
  }

  /** Responds to options of `beginPasskeyLogin` or `beginPasskeyProof`, as a browser at an origin does. */
  use(options: Anything, origin: string, more: Deviation = {}): string {
    const authenticatorData = this.#authenticatorData(options.rpId, more);
    const clientData = this.#clientData(options, "webauthn.get", origin, more);
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const id = more.id ?? base64url(this.credentialId);
    return JSON.stringify({
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(more.signature ?? sign("sha256", signed, this.#privateKey)),
        userHandle: more.userHandle ?? this.userHandle,
      },
      clientExtensionResults: {},
    });
  }
}

const begin = `mutation($input: BeginPasskeyInput!) { beginPasskey(input: $input) { options } }`;
export const confirmPasskey = `mutation($input: ConfirmPasskeyInput!) { confirmPasskey(input: $input) { passkeyId recoveryCodes } }`;

/** The options for a new passkey of a client. */
export const beginPasskey = async (client: Client, password: string | null = userPassword): Promise<Anything> =>
  (await client.graphql(begin, { input: { password } })).beginPasskey.options;

/** Adds a passkey to the account of a client, at an origin. */
export async function addPasskey(
  client: Client,
  origin: string,
  {
    name = "laptop",
    passkey = new SoftPasskey(),
    password = userPassword,
  }: { name?: string; passkey?: SoftPasskey; password?: string | null } = {},
): Promise<{ passkey: SoftPasskey; id: string; recoveryCodes: string[] | null }> {
  const options = await beginPasskey(client, password);
  const { confirmPasskey: confirmed } = await client.graphql(confirmPasskey, {
    input: { passkey: passkey.create(options, origin), name },
  });
  return { passkey, id: confirmed.passkeyId, recoveryCodes: confirmed.recoveryCodes };
}
