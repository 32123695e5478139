import type { ComponentType } from "react";
import { Navigate, Route, Routes, useLocation, useParams } from "react-router";
import { useIsSignedIn } from "./api/session";
import { Shell } from "./shell";
import { ApplicationsPage } from "./pages/applications";
import { AuditPage } from "./pages/audit";
import { ConnectionsPage } from "./pages/connections";
import { GrantsPage } from "./pages/grants";
import { GroupPage } from "./pages/group";
import { GroupsPage } from "./pages/groups";
import { InboxPage } from "./pages/inbox";
import { ProvisionersPage } from "./pages/provisioners";
import { SecretsPage } from "./pages/secrets";
import { SignInPage } from "./pages/sign-in";
import { TaskPage } from "./pages/task";
import { TasksPage } from "./pages/tasks";
import { UserPage } from "./pages/user";
import { UsersPage } from "./pages/users";
import { WorkspacePage } from "./pages/workspace";
import { WorkspacesPage } from "./pages/workspaces";
import { Empty, Heading } from "./ui/parts";

export function App() {
  const isSignedIn = useIsSignedIn();
  const { pathname, search } = useLocation();
  if (pathname === "/sign-in") return <SignInPage />;
  if (!isSignedIn) {
    const returnTo = new URLSearchParams({ return_to: pathname + search });
    return <Navigate to={pathname === "/" ? "/sign-in" : `/sign-in?${returnTo}`} replace />;
  }
  return (
    <Routes>
      <Route element={<Shell />}>
        <Route index element={<Navigate to="/workspaces" replace />} />
        <Route path="workspaces" element={<WorkspacesPage />} />
        <Route path="workspaces/:id" element={<ById page={WorkspacePage} />} />
        <Route path="tasks" element={<TasksPage />} />
        <Route path="tasks/:id" element={<ById page={TaskPage} />} />
        <Route path="inbox" element={<InboxPage />} />
        <Route path="users" element={<UsersPage />} />
        <Route path="users/:id" element={<ById page={UserPage} />} />
        <Route path="groups" element={<GroupsPage />} />
        <Route path="groups/:id" element={<ById page={GroupPage} />} />
        <Route path="secrets" element={<SecretsPage />} />
        <Route path="access" element={<GrantsPage />} />
        <Route path="applications" element={<ApplicationsPage />} />
        <Route path="provisioners" element={<ProvisionersPage />} />
        <Route path="audit" element={<AuditPage />} />
        <Route path="connections" element={<ConnectionsPage />} />
        <Route path="*" element={<Missing />} />
      </Route>
    </Routes>
  );
}

/** A page of one object, which keeps nothing of the object before. */
function ById({ page: Page }: { page: ComponentType }) {
  return <Page key={useParams().id} />;
}

const Missing = () => (
  <>
    <Heading title="Page not found" />
    <Empty>There is no page at this address.</Empty>
  </>
);
