import { useApolloClient, useQuery } from "@apollo/client/react";
import { useEffect, useRef, useState } from "react";
import { NavLink, Outlet, useLocation } from "react-router";
import { endCookieSession, forgetSession } from "./api/session";
import { graphql } from "./gql";
import { useInbox } from "./inbox";
import { AwayBanner } from "./ui/away";
import { Person } from "./ui/parts";

const shellQuery = graphql(`
  query Shell($checks: [AuthCheckInput!]!) {
    me {
      id
      username
      name
      avatarUrl
    }
    appearance {
      applicationName
      announcementBanners {
        enabled
        message
        backgroundColor
      }
    }
    authCheck(checks: $checks) {
      key
      allowed
    }
  }
`);

const logout = graphql(`
  mutation SignOut {
    logout {
      __typename
    }
  }
`);

/** The pages for administrators, and what one must be allowed to read to open them. */
const administration = [
  ["/users", "Users", "user"],
  ["/groups", "Groups", "group"],
  ["/applications", "Applications", "oauth2_app_secret"],
  ["/provisioners", "Provisioners", "provisioner_daemon"],
  ["/audit", "Audit log", "audit_log"],
  ["/connections", "Connections", "connection_log"],
] as const;

const checks = administration.map(([key, , resourceType]) => ({
  key,
  action: "read",
  object: { resourceType, anyOrg: !["user", "oauth2_app_secret"].includes(resourceType) },
}));

/** What surrounds every page: navigation, the caller, and messages that concern all pages. */
export function Shell() {
  const apollo = useApolloClient();
  const { data } = useQuery(shellQuery, { variables: { checks } });
  const { unread, isLive } = useInbox();
  // On phones, the menu is open until the next navigation.
  const [openAt, setOpenAt] = useState<string>();
  const { pathname, key: visit } = useLocation();
  const isOpen = openAt === visit;
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    // Screen readers begin at the new page, as after a page load.
    main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- runs for each page
  }, [pathname]);

  async function signOut() {
    await apollo.mutate({ mutation: logout }).catch(() => {});
    await endCookieSession().catch(() => {});
    forgetSession();
    await apollo.clearStore();
  }

  const allowed = new Set(data?.authCheck.filter((check) => check.allowed).map(({ key }) => key));
  const pages = administration.filter(([path]) => allowed.has(path));
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <button
          type="button"
          className="plain menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpenAt(isOpen ? undefined : visit)}
        >
          <span className="hidden">Menu</span>
          <i aria-hidden="true" />
        </button>
        <span className="brand">{data?.appearance.applicationName || "Steward"}</span>
      </header>
      <nav id="navigation" className={isOpen ? "open" : ""} aria-label="Pages">
        <span className="brand">{data?.appearance.applicationName || "Steward"}</span>
        <Link to="/workspaces" label="Workspaces" />
        <Link to="/tasks" label="Tasks" />
        <Link to="/inbox" label="Inbox" count={unread} />
        <Link to="/secrets" label="Secrets" />
        <Link to="/access" label="App access" />
        {pages.length > 0 && <h2>Administration</h2>}
        {pages.map(([path, label]) => (
          <Link key={path} to={path} label={label} />
        ))}
        <footer>
          {data?.me && (
            <NavLink to={`/users/${data.me.id}`}>
              <Person user={data.me} />
            </NavLink>
          )}
          <p className={isLive ? "live" : "live off"}>{isLive ? "Live" : "Not live"}</p>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </footer>
      </nav>
      <main id="main" ref={main}>
        <AwayBanner onReturn={() => void apollo.refetchQueries({ include: "active" })} />
        {data?.appearance.announcementBanners
          .filter(({ enabled }) => enabled)
          .map(({ message }) => (
            <p key={message} className="banner">
              {message}
            </p>
          ))}
        <Outlet />
      </main>
    </div>
  );
}

const Link = ({ to, label, count }: { to: string; label: string; count?: number }) => (
  <NavLink to={to}>
    {label}
    {count ? (
      <span className="badge">
        {count}
        <span className="hidden"> unread</span>
      </span>
    ) : undefined}
  </NavLink>
);
