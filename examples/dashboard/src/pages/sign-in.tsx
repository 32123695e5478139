import { useApolloClient, useQuery } from "@apollo/client/react";
import { Navigate, useSearchParams } from "react-router";
import { beginSession, isSignedIn, useIsSignedIn } from "../api/session";
import { graphql } from "../gql";
import { Failure } from "../ui/failure";
import { Form } from "../ui/form";
import { Heading, Loading } from "../ui/parts";
import { AwayBanner } from "../ui/away";

const waysQuery = graphql(`
  query WaysToSignIn {
    serverInfo {
      accessUrl
      passwordAuth
      identityProviders {
        type
        label
        signInUrl
      }
    }
  }
`);

const login = graphql(`
  mutation SignIn($input: LoginInput!) {
    login(input: $input) {
      sessionToken
    }
  }
`);

/** A path of this dashboard, whatever an address says. */
const ownPath = (wanted: string | null) => (wanted && /^\/(?![/\\])/.test(wanted) ? wanted : "/");

const fields = [
  { name: "email", label: "Email", type: "email", autoComplete: "username", isRequired: true },
  { name: "password", label: "Password", type: "password", autoComplete: "current-password", isRequired: true },
] as const;

export function SignInPage() {
  const apollo = useApolloClient();
  const [params] = useSearchParams();
  const returnTo = ownPath(params.get("return_to"));
  const { data, error, refetch } = useQuery(waysQuery);
  if (useIsSignedIn()) return <Navigate to={returnTo} replace />;

  async function signIn({ email = "", password = "" }) {
    const result = await apollo.mutate({ mutation: login, variables: { input: { email, password } } });
    // Nothing of the session before must be seen in this one.
    await apollo.clearStore();
    beginSession(result.data!.login.sessionToken);
  }

  const server = data?.serverInfo;
  return (
    <main className="sign-in">
      <AwayBanner onReturn={() => void refetch()} />
      <Heading title="Sign in" />
      {params.has("return_to") && !isSignedIn() && <p className="faint">Sign in to continue where you were.</p>}
      {!server && (error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />)}
      {server?.passwordAuth && <Form fields={fields} submit="Sign in" onSubmit={signIn} />}
      {server && <Providers server={server} returnTo={returnTo} />}
    </main>
  );
}

interface Server {
  accessUrl: string;
  identityProviders: Array<{ type: string; label: string; signInUrl: string }>;
}

/** Providers send browsers back to the access URL: it must be the address of this dashboard. */
function Providers({ server: { accessUrl, identityProviders }, returnTo }: { server: Server; returnTo: string }) {
  if (identityProviders.length === 0) return undefined;
  if (accessUrl !== location.origin) {
    const names = identityProviders.map(({ label }) => label).join(" or ");
    return (
      <p className="faint">
        To sign in with {names}, open this dashboard at <a href={accessUrl}>{accessUrl}</a>.
      </p>
    );
  }
  const query = new URLSearchParams({ return_to: returnTo });
  return identityProviders.map(({ type, label, signInUrl }) => (
    <a key={type} className="button" href={`${signInUrl}?${query}`}>
      Sign in with {label}
    </a>
  ));
}
