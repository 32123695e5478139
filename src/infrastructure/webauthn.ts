// Passkeys: Web Authentication Level 3. Browsers send what authenticators have signed as JSON, whose form is checked here.
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import * as z from "zod/mini";
import { isObject, jsonIn } from "../runtime/json.js";

/** Loaded at the first use, because of their size. */
const server = () => import("@simplewebauthn/server");
const helpers = () => import("@simplewebauthn/server/helpers");

/** EdDSA, ES256, and RS256 by their numbers in COSE, which all authenticators have one of. */
const algorithms = [-8, -7, -257];

/** How browsers reach authenticators. Others are left out: the list is a hint. */
const knownTransports = new Set(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"]);

/** Whom passkeys are for: they count on its pages alone. */
export interface RelyingParty {
  /** The host. */
  id: string;
  origin: string;
}

/** The relying party of the URL of a deployment. `undefined` where browsers allow no passkeys: at addresses, and without TLS. */
export function relyingPartyOf(accessUrl: string): RelyingParty | undefined {
  const { hostname, origin, protocol } = new URL(accessUrl);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  const isAddress = hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
  return !isAddress && (protocol === "https:" || isLocal) ? { id: hostname, origin } : undefined;
}

/** A passkey that browsers are told about. */
export interface KnownPasskey {
  credentialId: Buffer;
  transports: string[];
}

const described = ({ credentialId, transports }: KnownPasskey) => ({
  id: credentialId.toString("base64url"),
  transports,
});

export interface CreationOptions {
  party: RelyingParty;
  /** The name of the deployment. */
  partyName: string;
  user: { id: string; email: string; name: string };
  challenge: Uint8Array<ArrayBuffer>;
  known: readonly KnownPasskey[];
  /** Milliseconds. */
  timeout: number;
}

/** The options with which a browser makes a passkey, as JSON. */
export async function creationOptions(options: CreationOptions): Promise<Record<string, unknown>> {
  const { party, partyName, user, challenge, known, timeout } = options;
  const { generateRegistrationOptions } = await server();
  const made = await generateRegistrationOptions({
    rpName: partyName,
    rpID: party.id,
    userID: new Uint8Array(uuidBytes(user.id)),
    userName: user.email,
    userDisplayName: user.name,
    challenge,
    timeout,
    attestationType: "none",
    excludeCredentials: known.map(described),
    authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
    supportedAlgorithmIDs: algorithms,
  });
  return { ...made };
}

export interface RequestOptions {
  party: RelyingParty;
  challenge: Uint8Array<ArrayBuffer>;
  /** The passkeys that count; empty for those that the authenticators know themselves. */
  allowed: readonly KnownPasskey[];
  /** Whether the authenticator must know who uses it, by a PIN or a finger. */
  verifiesUser: boolean;
  timeout: number;
}

/** The options with which a browser asks for a passkey, as JSON. */
export async function requestOptions(options: RequestOptions): Promise<Record<string, unknown>> {
  const { party, challenge, allowed, verifiesUser, timeout } = options;
  const { generateAuthenticationOptions } = await server();
  const made = await generateAuthenticationOptions({
    rpID: party.id,
    challenge,
    timeout,
    allowCredentials: allowed.map(described),
    userVerification: verifiesUser ? "required" : "preferred",
  });
  return { ...made };
}

/** Characters of base64url, of so many bytes at most. */
const encoded = (most: number) => z.string().check(z.regex(/^[\w-]+$/), z.maxLength(Math.ceil((most * 4) / 3)));

/** The largest ID of a credential that WebAuthn allows, in bytes. */
const longestId = 1023;

const common = { id: encoded(longestId), rawId: encoded(longestId), type: z.literal("public-key") };

const newCredential = z.object({
  ...common,
  response: z.object({
    clientDataJSON: encoded(4096),
    attestationObject: encoded(8192),
    transports: z.optional(z.array(z.string())),
  }),
});

const usedCredential = z.object({
  ...common,
  response: z.object({
    clientDataJSON: encoded(4096),
    authenticatorData: encoded(4096),
    signature: encoded(4096),
    userHandle: z.optional(z.nullable(encoded(64))),
  }),
});

/** A credential as a browser has sent it, with the challenge that it says was signed. */
export interface Received<Credential> {
  credential: Credential;
  challenge: string;
}

export type ReceivedNew = Received<RegistrationResponseJSON>;
export type ReceivedUse = Received<AuthenticationResponseJSON>;

/** Reads a new credential from its JSON; `undefined` for any other text. */
export const readNewCredential = (text: string): ReceivedNew | undefined => read(newCredential, text);

/** Reads the use of a credential from its JSON; `undefined` for any other text. */
export const readUsedCredential = (text: string): ReceivedUse | undefined => read(usedCredential, text);

function read<Credential>(
  schema: typeof newCredential | typeof usedCredential,
  text: string,
): Received<Credential> | undefined {
  const { data } = z.safeParse(schema, parsed(text));
  if (!data) return undefined;
  const { challenge } = parsed(Buffer.from(data.response.clientDataJSON, "base64url").toString()) ?? {};
  if (typeof challenge !== "string") return undefined;
  return { credential: { ...data, clientExtensionResults: {} } as Credential, challenge };
}

function parsed(text: string): Record<string, unknown> | undefined {
  const value = jsonIn(text);
  return isObject(value) ? value : undefined;
}

/** A passkey that a user has made. */
export interface NewPasskey extends KnownPasskey {
  publicKey: Buffer;
  signCount: number;
  isBackedUp: boolean;
}

/** Verifies a new credential, whose challenge is known to be ours. Returns `undefined` if it is not for this relying party. */
export async function verifyNew(
  { credential, challenge }: ReceivedNew,
  { id, origin }: RelyingParty,
): Promise<NewPasskey | undefined> {
  const { verifyRegistrationResponse } = await server();
  try {
    if (!(await statesNothing(credential))) return undefined;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: false,
      supportedAlgorithmIDs: algorithms,
    });
    if (!registrationInfo) return undefined;
    const { credential: made, credentialBackedUp } = registrationInfo;
    return {
      credentialId: Buffer.from(made.id, "base64url"),
      publicKey: Buffer.from(made.publicKey),
      signCount: made.counter,
      transports: [...new Set(made.transports)].filter((each) => knownTransports.has(each)),
      isBackedUp: credentialBackedUp,
    };
  } catch {
    // The library throws for whatever is not as it should be.
    return undefined;
  }
}

/**
 * Whether a credential comes without certificates of its authenticator. None are requested, and verifying them would
 * request the URLs in them.
 */
async function statesNothing({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject } = await helpers();
  const stated = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, "base64url")));
  const form = stated.get("fmt");
  return form === "none" || (form === "packed" && stated.get("attStmt").get("x5c") === undefined);
}

/** The use of a passkey that was verified. */
export interface PasskeyUse {
  signCount: number;
  isBackedUp: boolean;
  /** Whether the authenticator knows who used it. */
  isUserVerified: boolean;
}

/**
 * Verifies the use of a passkey, whose challenge is known to be ours: the signature, the relying party, and the user, if the
 * browser names one. Returns `undefined` if any is wrong. The caller compares `signCount` with the stored one.
 */
export async function verifyUse(
  { credential, challenge }: ReceivedUse,
  { id, origin }: RelyingParty,
  { publicKey, userId }: { publicKey: Buffer; userId: string },
): Promise<PasskeyUse | undefined> {
  const { userHandle } = credential.response;
  if (userHandle && !Buffer.from(userHandle, "base64url").equals(uuidBytes(userId))) return undefined;
  const { verifyAuthenticationResponse } = await server();
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: credential,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      // The library compares the count before the signature.
      credential: { id: credential.id, publicKey: new Uint8Array(publicKey), counter: 0 },
      requireUserVerification: false,
    });
    if (!verified) return undefined;
    const { newCounter, credentialBackedUp, userVerified } = authenticationInfo;
    return { signCount: newCounter, isBackedUp: credentialBackedUp, isUserVerified: userVerified };
  } catch {
    return undefined;
  }
}

const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll("-", ""), "hex");
