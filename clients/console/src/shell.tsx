import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive } from "./api/client";
import { useData } from "./api/hooks";
import { serverIsAway } from "./api/reachability";
import { callerId, csrfToken } from "./api/session";
import { useSignal } from "./api/signal";
import { useInbox } from "./inbox";
import { chapters, routes } from "./sections";
import { Shell } from "./shell.gql";
import { Banner } from "./ui/banner";
import { NoticeBoard } from "./ui/notices";
import { SignedOut } from "./ui/signed-out";
import { Empty, hasNavigated, Heading, Person } from "./ui/parts";

const checks = chapters
  .flatMap(({ sections }) => sections)
  .flatMap(({ path, check }) => {
    if (!check) return [];
    const [resourceType = "", action = ""] = check.may.split(":");
    return { key: path, action, object: { resourceType, anyOrg: check.anyOrg } };
  });

/** Links that the console follows itself; other pages of the server, such as the API reference, load as a whole. */
const ownPaths = new RegExp(
  `^/(${chapters
    .flatMap(({ sections }) => sections.map(({ path }) => path.slice(1)))
    .filter(Boolean)
    .join("|")})(/|\\?|$)|^/(\\?|$)`,
);

export const App = () => (
  <LocationProvider scope={ownPaths}>
    <Frame />
    <NoticeBoard />
    <SignedOut />
  </LocationProvider>
);

/** The frame of every page: navigation, the caller, and messages that concern all pages. */
function Frame() {
  const { data } = useData(Shell, { checks });
  const unread = useInbox();
  const live = useSignal(isLive);
  const away = useSignal(serverIsAway);
  const { path } = useLocation();
  // On phones, the menu is open until the next navigation.
  const [openAt, setOpenAt] = useState<string>();
  const isOpen = openAt === path;
  const first = useRef(path);
  useEffect(() => {
    if (path !== first.current) hasNavigated.set(true);
    window.scrollTo(0, 0);
    document.querySelector("#navigation [aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [path]);

  const caller = data?.me.id;
  useEffect(() => callerId.set(caller), [caller]);

  const allowed = new Set(data?.authCheck.filter((check) => check.allowed).map(({ key }) => key));
  const name = data?.appearance.applicationName || "Steward";
  const banners = data?.appearance.announcementBanners.filter(({ enabled }) => enabled) ?? [];
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="bar">
        <button
          type="button"
          class="plain menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpenAt(isOpen ? undefined : path)}
        >
          <span class="hidden">Menu</span>
          <i aria-hidden="true" />
        </button>
        <span class="brand">{name}</span>
      </header>
      <nav id="navigation" class={isOpen ? "open" : ""} aria-label="Pages">
        <a class="brand" href="/">
          {name}
        </a>
        {chapters.map(({ title, sections }) => {
          const offered = sections.filter((section) => !section.check || allowed.has(section.path));
          return (
            offered.length > 0 && (
              <section key={title} aria-label={title ?? "Work"}>
                {title && <h2>{title}</h2>}
                {offered.map((section) => (
                  <a
                    key={section.path}
                    href={section.path}
                    aria-current={isWithin(path, section.path) ? "page" : undefined}
                  >
                    {section.label}
                    {section.path === "/inbox" && unread > 0 && (
                      <span class="badge">
                        {unread}
                        <span class="hidden"> unread</span>
                      </span>
                    )}
                  </a>
                ))}
              </section>
            )
          );
        })}
        <footer>
          {data?.me && (
            <a href={`/users/${data.me.id}`}>
              <Person user={data.me} />
            </a>
          )}
          <p class={live ? "live" : "live off"}>{live ? "Live" : "Not live"}</p>
          <p class="links">
            <a href="/docs">REST reference</a>
            <a href="/graphql">GraphQL explorer</a>
            <a href="/account/password">Password</a>
          </p>
          <form method="post" action="/logout">
            <input type="hidden" name="csrf_token" value={csrfToken()} />
            <button type="submit">Sign out</button>
          </form>
        </footer>
      </nav>
      <main id="main">
        <div class="away" role="alert">
          {away && <p>Steward cannot be reached. Trying to connect again…</p>}
        </div>
        {banners.map(({ message, backgroundColor }) => (
          <Banner key={message} color={backgroundColor}>
            {message}
          </Banner>
        ))}
        <Router>
          {routes.map((each) => (
            <Route key={each.path} path={each.path} component={each.component} />
          ))}
          <Route default component={Missing} />
        </Router>
      </main>
    </div>
  );
}

const isWithin = (path: string, section: string) =>
  path === section || (section !== "/" && path.startsWith(`${section}/`));

const Missing = () => (
  <>
    <Heading title="Page not found" />
    <Empty>There is no page at this address.</Empty>
  </>
);
