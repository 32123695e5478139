import type { ComponentChildren } from "preact";
import { LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive } from "./api/client";
import { useData, useLatest } from "./api/hooks";
import { serverIsAway } from "./api/reachability";
import { callerId, csrfToken } from "./api/session";
import { useSignal } from "./api/signal";
import { useInbox } from "./inbox";
import { Palette } from "./palette";
import type { Hit } from "./recent";
import { chapters, routes } from "./sections";
import { Shell } from "./shell.gql";
import { Banner } from "./ui/banner";
import { NoticeBoard } from "./ui/notices";
import { ProveAgain } from "./ui/prove-again";
import { SignedOut } from "./ui/signed-out";
import { Empty, hasNavigated, Heading, Person, productName, Time } from "./ui/parts";

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
    <ProveAgain />
  </LocationProvider>
);

/** The frame of every page: navigation, search, the caller, and messages that concern all pages. */
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

  const addBy = data?.secondFactors?.addBy;
  const caller = data?.me.id;
  useEffect(() => callerId.set(caller), [caller]);

  const allowed = new Set(data?.authCheck.filter((check) => check.allowed).map(({ key }) => key));
  const name = data?.appearance.applicationName || "Steward";
  useEffect(() => productName.set(name), [name]);
  const logo = data?.appearance.logoUrl;
  const banners = data?.appearance.announcementBanners.filter(({ enabled }) => enabled) ?? [];
  const offered = chapters
    .map((chapter) => ({
      ...chapter,
      sections: chapter.sections.filter((section) => !section.check || allowed.has(section.path)),
    }))
    .filter(({ sections }) => sections.length > 0);
  const linksOf = ({ sections }: Pick<(typeof chapters)[number], "sections">) =>
    sections.map((section) => (
      <a key={section.path} href={section.path} aria-current={isWithin(path, section.path) ? "page" : undefined}>
        {section.label}
        {section.path === "/inbox" && unread > 0 && (
          <span class="badge">
            {unread}
            <span class="hidden"> unread</span>
          </span>
        )}
      </a>
    ));
  const administration = offered.filter(({ area }) => area === "administration");
  return (
    <div class={name.length > longName ? "shell long-name" : "shell"}>
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
        <a class="brand" href="/">
          {logo && <img src={logo} alt="" />}
          <bdi>{name}</bdi>
        </a>
        <Finder
          pages={offered.flatMap(({ title, sections }) =>
            sections.map((section) => ({ href: section.path, group: "Pages", title: section.label, note: title })),
          )}
        />
        <p class={live ? "live" : "live off"}>{live ? "Live" : "Not live"}</p>
        {data?.me && (
          <AccountMenu user={data.me} path={path}>
            {offered.filter(({ area }) => area === "account").map(linksOf)}
          </AccountMenu>
        )}
        <form method="post" action="/logout">
          <input type="hidden" name="csrf_token" value={csrfToken()} />
          <button type="submit">Sign out</button>
        </form>
      </header>
      <nav id="navigation" class={isOpen ? "open" : ""} aria-label="Pages">
        {offered
          .filter(({ area }) => area === "work")
          .map((chapter) => (
            <section key={chapter.title} aria-label={chapter.title}>
              {linksOf(chapter)}
            </section>
          ))}
        {administration.length > 0 && (
          <section class="administration" aria-label="Administration">
            <h2>Administration</h2>
            {administration.map((chapter) => (
              <section key={chapter.title} aria-label={chapter.title}>
                <h3>{chapter.title}</h3>
                {linksOf(chapter)}
              </section>
            ))}
          </section>
        )}
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
        {addBy && (
          <Banner>
            Your account requires a second factor. <a href="/account/second-factor">Add one</a> <Time at={addBy} /> at
            the latest: after that, you can do nothing else first.
          </Banner>
        )}
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

/** Names of more characters have a line of their own where the bar is narrow. */
const longName = 12;

interface AccountMenuProps {
  user: { id: string; username: string; name: string };
  path: string;
  children: ComponentChildren;
}

/** The caller in the corner, and the pages of their account. It closes with Escape, elsewhere, and at the next page. */
function AccountMenu({ user, path, children }: AccountMenuProps) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.hidePopover(), [path]);
  return (
    <>
      <button type="button" class="plain account" popovertarget="account">
        <span class="hidden">Account of </span>
        <Person user={user} />
      </button>
      <nav ref={panel} id="account" popover="auto" aria-label="Account">
        <a href={`/users/${user.id}`}>Your profile</a>
        {children}
        <a href="/account/password">Password</a>
        <hr />
        <a href="/docs">REST reference</a>
        <a href="/graphql">GraphQL explorer</a>
      </nav>
    </>
  );
}

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

/** Whether a key goes to what is typed into, or to a dialog. */
const isTaken = ({ target }: KeyboardEvent) =>
  document.querySelector("dialog[open]") !== null ||
  (target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select")));

/** Opens the search over everything: by its button, by ⌘K or Ctrl+K, and by a slash where nothing is typed. */
function Finder({ pages }: { pages: readonly Hit[] }) {
  const [isOpen, setOpen] = useState(false);
  const onKey = useLatest((event: KeyboardEvent) => {
    const { key, metaKey, ctrlKey, altKey } = event;
    const isChord = key.toLowerCase() === "k" && (isMac ? metaKey : ctrlKey) && !altKey;
    const isSlash = key === "/" && !metaKey && !ctrlKey && !altKey && !isTaken(event);
    if (!isChord && !isSlash) return;
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) setOpen(true);
  });
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [onKey]);
  return (
    <>
      <button type="button" class="find" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span>Search</span>
        <kbd aria-hidden="true">{isMac ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      {isOpen && <Palette pages={pages} onClose={() => setOpen(false)} />}
    </>
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
