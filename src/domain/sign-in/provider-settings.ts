// What is said of a provider: by owners in an input, or by the operator in a file.
import * as z from "zod/mini";
import { clientKeyRule, isClientKey } from "../../infrastructure/client-keys.js";
import {
  EmailLinking,
  ProviderKind,
  type ProviderSettings,
  usualScopes,
} from "../../infrastructure/identity-providers.js";
import { longestLabel, longestName } from "../../entities/lengths.js";
import { providerLengths } from "../../entities/sign-in.js";
import type { Problems } from "../kernel/errors.js";
import {
  choice,
  duration,
  flag,
  inputOf,
  type Input,
  label,
  list,
  matching,
  meant,
  optional,
  pasted,
  reference,
  required,
  textBy,
  characters,
} from "../kernel/values.js";
import { addMappingProblems, ClaimMappingInput, mostMappings } from "./claim-mappings.js";
import { isTrustedUrl, trustedUrlRule } from "../workspace-proxies/sites.js";

/** How addresses in the domains of a provider count if it does not say that they are verified. */
export const EmailVerification = { TRUSTED: "trusted", REQUIRED: "required" } as const;

const nameRule = `Must be 1 to ${longestName} lower-case letters, digits and single hyphens between them.`;
const providerName = matching(/^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$/, nameRule, { maxLength: longestName });

const issuerUrl = textBy(
  (given) =>
    given.length <= 2048 && isTrustedUrl(given) ? undefined : `Must be ${trustedUrlRule}, of at most 2048 characters.`,
  { maxLength: 2048 },
);

/** Pages load nothing from other origins: an icon is on this server, or a part of the page. */
const providerIcon = matching(
  /^($|\/(?![/\\])[\x21-\x7e]*$|data:image\/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$)/,
  "Must be empty, a path on this server, or a data URL with a PNG, JPEG, GIF, WebP, or SVG image in base64.",
  { maxLength: providerLengths.icon },
).check(z.maxLength(providerLengths.icon, `Must be at most ${providerLengths.icon} characters.`));

const clientId = matching(/^[\x20-\x7e]{1,255}$/, "Must be 1 to 255 printable ASCII characters.", {
  minLength: 1,
  maxLength: providerLengths.clientId,
});

const clientSecret = meant(characters(1, 1024), { kind: "secret" });

const clientKey = meant(
  textBy((given) => (given.length <= 16_384 && isClientKey(given) ? undefined : `Must be ${clientKeyRule}.`), {
    maxLength: 16_384,
  }),
  { kind: "secret", limits: "at most 16384 characters" },
);

const scope = matching(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, "Must be a scope of 1 to 128 characters (RFC 6749 §3.3).");

const claimName = matching(/^[\x21-\x7e]{1,128}$/, "Must be the name of a claim: 1 to 128 visible ASCII characters.");

const mailDomain = matching(
  /^(?=.{1,253}$)[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*$/u,
  "Must be a domain such as example.com.",
);

const tenant = matching(/^[\w.-]{1,128}$/, "Must be the ID of a tenant: 1 to 128 letters, digits, hyphens, and dots.");

const factorValue = matching(/^[\x21-\x7e]{1,256}$/, "Must be 1 to 256 visible ASCII characters.");

const mostEntries = 100;
const mostFactors = 20;

/** The shortest and the longest time between two checks of a person, in seconds. */
const leastInterval = 60;
const longestInterval = 604_800;

const shared = {
  displayName: optional(
    label(longestLabel),
    "Name that sign-in pages show, {limits}. Default: the host of the issuer.",
  ),
  icon: optional(
    providerIcon,
    "Image on sign-in pages: a path on this server, or a data URL with a PNG, JPEG, GIF, WebP, or SVG image in base64. Default: none.",
  ),
  clientId: optional(pasted(clientId), "Client ID of this server there."),
  clientSecret: optional(pasted(clientSecret), "Client secret there, {limits}. Never returned."),
  clientKey: optional(
    clientKey,
    "In place of a secret: the private key that signs the assertions of this server (`private_key_jwt`), as PEM or as a JWK with its `kid`. Never returned.",
  ),
  scopes: optional(
    list(20, scope),
    "Scopes to request, {limits}. Default: `openid email profile`, or `read:user user:email` at GitHub.",
  ),
  subjectClaim: optional(
    claimName,
    "Claim of ID tokens that identifies users permanently. Entra ID's `oid` stays the same in a new app registration. Default: `sub`.",
  ),
  emailVerified: optional(
    choice(EmailVerification),
    "How addresses in `emailDomains` count if the provider does not say that they are verified. By default, as verified.",
  ),
  emailDomains: optional(
    list(mostEntries, mailDomain),
    "Domains of email addresses, {limits}, whose people are admitted, and for which the provider speaks. Default: none.",
  ),
  followsEmail: optional(
    flag,
    "Whether accounts get another verified address in `emailDomains` that the provider sends. Never people with a SCIM link or several identities. Default: true.",
  ),
  linksByEmail: optional(
    choice(EmailLinking),
    "Which accounts without an identity sign in by their verified address, and which invitations count. By default, those in `emailDomains`.",
  ),
  admitsNewcomers: optional(
    flag,
    "Whether people without an account, with a verified address in `emailDomains`, get one. Default: true.",
  ),
  organizations: optional(
    list(mostEntries, reference),
    "Organizations that newcomers join, {limits}: IDs, names, or `default`. Default: the default organization.",
  ),
  tenants: optional(
    list(mostEntries, tenant),
    "The tenants whose users may sign in, {limits}: values of the claim `tid`, as Entra ID sends it. Default: all.",
  ),
  hostedDomains: optional(
    list(mostEntries, mailDomain),
    "The hosted domains whose users may sign in, {limits}: values of the claim `hd`, as Google sends it. Default: all.",
  ),
  factorMethods: optional(
    list(mostFactors, factorValue),
    "Values of the claim `amr` of ID tokens by which the provider says that it checked a second factor, {limits}, such as `mfa`. Default: none.",
  ),
  factorContexts: optional(
    list(mostFactors, factorValue),
    "Values of the claim `acr` of ID tokens by which it says so, {limits}. Default: none.",
  ),
  claimMappings: optional(
    list(mostMappings, ClaimMappingInput),
    "Claims that give groups, organizations, and roles, {limits}. Default: none.",
  ),
  appliesClaims: optional(
    flag,
    "Whether sign-ins apply them. Otherwise, only tests of the provider show their effect. Default: false.",
  ),
  locksGroups: optional(
    flag,
    "Whether the names and members of groups that it made cannot be changed by hand, as long as sign-ins apply the claims. Default: false.",
  ),
  signsOut: optional(
    flag,
    "Whether people who sign out here are signed out at the provider, too, if it has an `end_session_endpoint`. The path `/login` of this server must be registered there as a post-logout redirect URI. Default: false.",
  ),
  checkInterval: optional(
    duration(0, longestInterval),
    `Seconds between two checks of people who are signed in, from ${leastInterval} to ${longestInterval}: claims are applied again, and sessions end that the provider no longer knows. It needs refresh tokens: at most providers, the scope \`offline_access\`. 0 for none, which is the default.`,
  ),
};

/** The settings of a provider. */
export const CreateIdentityProvider = inputOf({
  ...shared,
  name: required(
    providerName,
    "Unique name, at most 32 lower-case letters, digits, and single hyphens: the last part of the path of the sign-in, `/login/<name>`, and of the redirect URI, `/login/<name>/callback`.",
  ),
  kind: required(choice(ProviderKind), "Kind of the provider. It cannot be changed."),
  issuer: optional(
    pasted(issuerUrl),
    "URL of the issuer, https, or http on this machine. Required for OpenID Connect. At GitHub, the site: by default `https://github.com`.",
  ),
  clientId: required(pasted(clientId), "Client ID of this server there."),
  isEnabled: optional(flag, "Whether people can sign in. Otherwise, it can be tested. Default: true."),
});
export type CreateIdentityProvider = Input<typeof CreateIdentityProvider>;

export const UpdateIdentityProvider = inputOf({
  ...shared,
  provider: required(reference, "The provider: ID or name."),
  name: optional(
    providerName,
    "New name. The provider must have the new redirect URI; linked people keep their identities.",
  ),
  issuer: optional(pasted(issuerUrl), "New URL of the issuer or the site, as long as no account is linked."),
  isEnabled: optional(flag, "Whether people can sign in. Otherwise, it can be tested."),
});
export type UpdateIdentityProvider = Input<typeof UpdateIdentityProvider>;

/** The settings without the credential. */
export type PublicSettings = Omit<ProviderSettings, "credential">;

/** The fields of an input as settings name them; absent ones keep what is there. */
export type ProviderFields = Partial<Omit<CreateIdentityProvider, "clientSecret" | "clientKey">>;

/** The settings of a provider of which nothing else is said. */
export const initially = (kind: ProviderKind): Omit<PublicSettings, "name" | "clientId"> => ({
  kind,
  displayName: "",
  icon: "",
  issuer: kind === "github" ? "https://github.com" : "",
  scopes: usualScopes[kind],
  subjectClaim: "sub",
  emailVerified: EmailVerification.TRUSTED,
  emailDomains: [],
  followsEmail: true,
  linksByEmail: EmailLinking.DOMAINS,
  admitsNewcomers: true,
  organizations: [],
  tenants: [],
  hostedDomains: [],
  factorMethods: [],
  factorContexts: [],
  claimMappings: [],
  appliesClaims: false,
  locksGroups: false,
  signsOut: false,
  checkInterval: 0,
});

/** Adds the faults of settings that concern several fields. */
export function addProviderProblems(
  problems: Problems,
  settings: PublicSettings,
  credential: { clientSecret?: string | null; clientKey?: string | null; isKnown: boolean },
): void {
  const { kind, issuer, scopes, tenants, hostedDomains, subjectClaim, claimMappings, checkInterval } = settings;
  const { clientSecret: secret, clientKey: key, isKnown } = credential;
  if (issuer === "") problems.add("issuer", "Is required.");
  if (secret != null && key != null) problems.add("clientKey", "Must not be given with a secret.");
  if (secret == null && key == null && !isKnown) problems.add("clientSecret", "Is required, or a key in its place.");
  addMappingProblems(problems, claimMappings);
  if (checkInterval > 0 && checkInterval < leastInterval)
    problems.add("checkInterval", `Must be 0, or at least ${leastInterval}.`);
  if (kind === "oidc") {
    if (!scopes.includes("openid")) problems.add("scopes", "Must contain openid.");
    return;
  }
  if (key != null) problems.add("clientKey", "GitHub takes a secret.");
  if (claimMappings.length > 0) problems.add("claimMappings", "GitHub has no claims.");
  if (checkInterval > 0) problems.add("checkInterval", "GitHub gives no refresh tokens.");
  if (tenants.length > 0) problems.add("tenants", "GitHub has no tenants.");
  if (hostedDomains.length > 0) problems.add("hostedDomains", "GitHub has no hosted domains.");
  for (const field of ["factorMethods", "factorContexts"] as const)
    if (settings[field].length > 0) problems.add(field, "GitHub reports no second factors.");
  if (subjectClaim !== "sub") problems.add("subjectClaim", "GitHub has no claims.");
}
