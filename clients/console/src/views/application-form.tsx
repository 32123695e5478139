// The form of an application: first how it gets access, then what that needs.
import { ask } from "../api/client";
import { describe, InvalidInput } from "../api/errors";
import type { FieldSpec, Options } from "../ui/form";
import { ServiceAccount, ServiceAccounts, type CreateOAuth2AppInput, type OAuth2GrantType } from "./applications.gql";
import { ScopeTree } from "./scope-tree";

/** Reads the ID of a service account from its username. Once chosen, an account can only be replaced. */
async function serviceUserIdOf(text: string, isChosen: boolean): Promise<string | undefined> {
  const username = text.trim();
  if (username === "" && !isChosen) return undefined;
  const found = username && (await ask(ServiceAccount, { username }).catch(nothingIfMissing))?.user;
  if (found && found.isServiceAccount) return found.id;
  const detail = "Must be the username of a service account.";
  throw new InvalidInput([{ field: "serviceUserId", detail }]);
}

function nothingIfMissing(error: unknown): undefined {
  if (describe(error).code !== "NOT_FOUND") throw error;
}

const suggestServiceAccounts = async (search: string) =>
  (await ask(ServiceAccounts, { search })).users.nodes.map(
    ({ username, name }) => [username, name || username] as const,
  );

interface Type {
  name: string;
  title: string;
  sentence: string;
  grantTypes: readonly OAuth2GrantType[];
}

const types: readonly Type[] = [
  {
    name: "web",
    title: "A website",
    sentence: "People give it access in the browser. It keeps a secret on its server.",
    grantTypes: ["AUTHORIZATION_CODE", "REFRESH_TOKEN"],
  },
  {
    name: "native",
    title: "A program on people's computers",
    sentence: "A desktop, phone, or command-line program. People give it access in the browser; it has no secret.",
    grantTypes: ["AUTHORIZATION_CODE", "DEVICE_CODE", "REFRESH_TOKEN"],
  },
  {
    name: "device",
    title: "A device without a browser",
    sentence: "It shows a code that people enter elsewhere.",
    grantTypes: ["DEVICE_CODE", "REFRESH_TOKEN"],
  },
  {
    name: "service",
    title: "A service",
    sentence: "It acts for itself, as a service account, without a person.",
    grantTypes: ["CLIENT_CREDENTIALS"],
  },
];

const options: Options = types.map(({ name, title, sentence }) => [name, title, sentence]);

const grantOptions: Options = [
  ["AUTHORIZATION_CODE", "In the browser", "People are sent here, and say yes."],
  ["DEVICE_CODE", "By a code", "A device shows a code, which people enter here."],
  ["CLIENT_CREDENTIALS", "For itself", "With its secret, and without a person."],
  ["REFRESH_TOKEN", "Again, without asking", "Access is renewed until it is taken away."],
];

type Filled = Readonly<Record<string, string>>;

const isRedirected = ({ type }: Filled) => type === "web" || type === "native";

interface Known {
  serviceUser: object | null;
}

const nameField: FieldSpec = { name: "name", hint: "People see it when it requests access." };

const redirectField: FieldSpec = {
  name: "redirectUris",
  label: "Redirect URIs",
  hint: "Where people return to after they said yes: one address a line, exactly as the application sends it.",
  placeholder: "https://app.example.com/callback",
};

const accountField = (app?: Known): FieldSpec => ({
  name: "serviceUserId",
  label: "Service account",
  hint: "The username of the account that it acts as.",
  suggest: suggestServiceAccounts,
  read: (text: string) => serviceUserIdOf(text, app?.serviceUser != null),
});

const moreFields: readonly FieldSpec[] = [
  {
    name: "scopeCeiling",
    label: "What it may do at most",
    kind: "choices",
    control: ScopeTree,
    isGroup: true,
    isRequired: true,
  },
  {
    name: "resourceIndicators",
    label: "Resource indicators",
    hint: "Only for an API of your own that takes tokens of this deployment: its addresses, one a line.",
  },
  {
    name: "defaultResource",
    label: "Default resource",
    hint: "The address that tokens are for when a request names none.",
  },
];

const iconField: FieldSpec = {
  name: "icon",
  label: "Icon",
  hint: "The address of a picture, or a path on this server.",
  placeholder: "https://",
};

const pkceField: FieldSpec = {
  name: "pkceRequired",
  label: "Require proof that the one who began it ends it (PKCE)",
  hint: "Leave it on, unless the application is too old for it.",
};

/** The fields of a new application. */
export const newFields: readonly FieldSpec[] = [
  { name: "type", label: "Kind of application", options },
  nameField,
  { ...redirectField, isRequired: true, isShown: isRedirected },
  { ...accountField(), isRequired: true, isShown: ({ type }) => type === "service" },
  { ...pkceField, isShown: isRedirected },
  ...moreFields,
  iconField,
];

export const newDefaults = { type: "web", pkceRequired: true, scopeCeiling: ["all"] };

/** The input of a new application: its kind says how it gets access. */
export function inputOf({ type, ...rest }: Record<string, unknown>): Partial<CreateOAuth2AppInput> {
  const { grantTypes = [] } = types.find(({ name }) => name === type) ?? {};
  return { ...rest, grantTypes: [...grantTypes] };
}

/** The fields of an application that exists. */
export const fieldsOf = (app: Known): readonly FieldSpec[] => [
  nameField,
  redirectField,
  { name: "grantTypes", label: "How it gets access", options: grantOptions },
  accountField(app),
  ...moreFields,
  pkceField,
  iconField,
];
