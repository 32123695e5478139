import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import type { FieldSpec } from "../ui/form";
import { List } from "../ui/list";
import { Heading, Status, Time } from "../ui/parts";
import { countOf, titleOf } from "../ui/text";
import { CreateProxy, DeleteProxy, Proxies, UpdateProxy } from "./proxies.gql";

/** The name of the server itself among the proxies: it has no token, keeps its name, and cannot be deleted. */
const primary = "primary";

const nameField: FieldSpec = { name: "name", hint: "Part of addresses and commands, such as sydney." };

const fields: readonly FieldSpec[] = [
  { name: "displayName", hint: "As people choose it, such as Sydney.", placeholder: "Sydney" },
  { name: "icon", label: "Icon", hint: "The address of a picture, or a path on this server.", placeholder: "https://" },
];

export function ProxiesView() {
  const proxies = useData(Proxies, {});
  const may = useAllowed({
    create: { may: "workspace_proxy:create" },
    update: { may: "workspace_proxy:update" },
    delete: { may: "workspace_proxy:delete" },
  });
  return (
    <>
      <Heading title="Workspace proxies" note="They bring the applications of workspaces closer to their users.">
        {may("create") && (
          <Action
            label="Create a proxy"
            look="primary"
            run={CreateProxy}
            given={{}}
            fields={[nameField, ...fields]}
            submit="Create"
            reveal={({ createWorkspaceProxy: { proxyToken, workspaceProxy } }) => [
              `Token of ${workspaceProxy.name}`,
              proxyToken,
            ]}
          />
        )}
      </Heading>
      <List
        name="Workspace proxies"
        rows={proxies.data?.workspaceProxies}
        from={proxies}
        empty="No proxy. Applications are reached through the server itself."
        columns={[
          {
            title: "Proxy",
            show: (proxy) => (
              <>
                <b>{titleOf(proxy)}</b> <span class="faint">{proxy.name}</span>
              </>
            ),
          },
          {
            title: "Status",
            show: ({ status }) => (
              <>
                <Status name={status.status ?? "UNREGISTERED"} />
                {[...(status.report?.errors ?? []), ...(status.report?.warnings ?? [])].map((text) => (
                  <span key={text} class="fault block">
                    {text}
                  </span>
                ))}
              </>
            ),
          },
          { title: "Address", show: ({ pathAppUrl }) => pathAppUrl || <span class="faint">not registered</span> },
          { title: "Replicas", show: ({ replicas }) => countOf(replicas.length, "replica") },
          { title: "Checked", show: ({ status }) => <Time at={status.checkedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (proxy) => (
              <>
                {may("update") && (
                  <>
                    <Action
                      label="Edit"
                      on={proxy.name}
                      run={UpdateProxy}
                      given={{ workspaceProxy: proxy.id }}
                      fields={proxy.name === primary ? fields : [nameField, ...fields]}
                      values={proxy}
                      submit="Save"
                    />
                    {proxy.name !== primary && (
                      <Action
                        label="New token"
                        on={proxy.name}
                        confirm="The proxy has to be started again with the new token: the present one stops working."
                        run={UpdateProxy}
                        given={{ workspaceProxy: proxy.id, regenerateToken: true }}
                        reveal={({ updateWorkspaceProxy: { proxyToken } }) =>
                          proxyToken ? [`Token of ${proxy.name}`, proxyToken] : undefined
                        }
                      />
                    )}
                  </>
                )}
                {may("delete") && proxy.name !== primary && (
                  <Action
                    label="Delete"
                    on={proxy.name}
                    look="danger"
                    confirm="Users reach their applications through the server itself. This cannot be undone."
                    run={DeleteProxy}
                    given={{ workspaceProxy: proxy.id }}
                  />
                )}
              </>
            ),
          },
        ]}
      />
    </>
  );
}
