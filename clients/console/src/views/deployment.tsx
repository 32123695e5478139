import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Swatch } from "../ui/banner";
import { Failure } from "../ui/failure";
import { ColorField } from "../ui/color-field";
import type { FieldSpec } from "../ui/form";
import { List } from "../ui/list";
import { PictureField } from "../ui/picture-field";
import { Facts, Heading, Loading, Panel, Share, Status, Time } from "../ui/parts";
import { wordsOf } from "../ui/text";
import {
  AddLicense,
  Appearance,
  type AppearanceQuery,
  DeleteLicense,
  Licenses,
  RefreshEntitlements,
  UpdateAppearance,
} from "./deployment.gql";

type Banner = AppearanceQuery["appearance"]["announcementBanners"][number];

const bannerFields: readonly FieldSpec[] = [
  { name: "message", hint: "A sentence or two, above every page.", isRequired: true },
  {
    name: "backgroundColor",
    label: "Color",
    hint: "Of the background. The text is black or white, as can be read on it.",
    control: ColorField,
  },
  { name: "enabled", label: "Show it" },
];

export function AppearanceView() {
  const { data, error, refresh } = useData(Appearance, {});
  const may = useAllowed({ update: { may: "deployment_config:update" } });
  const appearance = data?.appearance;
  if (!appearance) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const banners = appearance.announcementBanners.map(({ enabled, message, backgroundColor }) => ({
    enabled,
    message,
    backgroundColor,
  }));
  // An update replaces all of it.
  const { applicationName, logoUrl } = appearance;
  const kept = { applicationName, logoUrl, announcementBanners: banners };
  const store = (all: readonly Banner[]) => ({ ...kept, announcementBanners: [...all] });
  return (
    <>
      <Heading title="Appearance">
        {may("update") && (
          <>
            <Action
              label="Edit"
              title="Edit the appearance"
              run={UpdateAppearance}
              given={kept}
              fields={[
                {
                  name: "applicationName",
                  label: "Name",
                  hint: "In the corner of every page, and in mails.",
                  placeholder: "Steward",
                },
                {
                  name: "logoUrl",
                  label: "Logo",
                  hint: "A PNG, JPEG, or WebP file of at most 128 KiB, or the address of a picture.",
                  control: PictureField,
                },
              ]}
              values={appearance}
              submit="Save"
            />
            <Action
              label="Add a banner"
              look="primary"
              run={UpdateAppearance}
              given={{}}
              part="announcementBanners"
              fields={bannerFields}
              defaults={{ enabled: true, backgroundColor: "#1d5fbf" }}
              prepare={(values) => store([...banners, values as Banner])}
              submit="Add"
            />
          </>
        )}
      </Heading>
      <Facts
        facts={[
          ["Name", applicationName || "Steward"],
          [
            "Logo",
            logoUrl && (
              <span key="logo" class="picture">
                <img src={logoUrl} alt={`The logo of ${applicationName || "Steward"}`} />
              </span>
            ),
          ],
          [
            "Documentation",
            appearance.docsUrl && (
              <a key="docs" href={appearance.docsUrl}>
                {appearance.docsUrl}
              </a>
            ),
          ],
          ["Support links", appearance.supportLinks.map(({ name }) => name).join(", ")],
        ]}
      />
      <Panel title="Banners">
        <List
          name="Banners"
          rows={banners.map((banner, at) => ({ ...banner, id: String(at), at }))}
          empty="No banner. Announce what all users should know, such as maintenance."
          columns={[
            { title: "Message", show: ({ message }) => message },
            { title: "Color", show: ({ backgroundColor }) => backgroundColor && <Swatch color={backgroundColor} /> },
            {
              title: "State",
              show: ({ enabled }) => <Status name={enabled ? "ACTIVE" : "OFF"} label={enabled ? "Shown" : "Hidden"} />,
            },
            {
              title: "Actions",
              isAction: true,
              show: ({ at, message, enabled }) =>
                may("update") && (
                  <>
                    <Action
                      label={enabled ? "Hide" : "Show"}
                      on={message}
                      run={UpdateAppearance}
                      given={store(
                        banners.map((each, index) => (index === at ? { ...each, enabled: !enabled } : each)),
                      )}
                    />
                    <Action
                      label="Remove"
                      on={message}
                      look="danger"
                      run={UpdateAppearance}
                      given={store(banners.filter((_, index) => index !== at))}
                      said="The banner is removed."
                      undo={() => perform(UpdateAppearance, { input: store(banners) })}
                    />
                  </>
                ),
            },
          ]}
        />
      </Panel>
    </>
  );
}

export function LicensesView() {
  const licenses = useData(Licenses, {});
  const may = useAllowed({
    create: { may: "license:create" },
    delete: { may: "license:delete" },
    refresh: { may: "system:update" },
  });
  const { entitlements } = licenses.data ?? {};
  return (
    <>
      <Heading title="Licenses">
        {may("refresh") && (
          <Action label="Check again" run={RefreshEntitlements} given={{}} said="The entitlements are current." />
        )}
        {may("create") && (
          <Action
            label="Add a license"
            look="primary"
            run={AddLicense}
            given={{}}
            fields={[
              {
                name: "license",
                label: "License",
                hint: "The text that your vendor sent, or the file with it.",
                kind: "area",
                files: ".jwt,.txt,.lic,text/plain",
                read: (text) => text.trim(),
                isRequired: true,
              },
            ]}
            submit="Add"
            said="The license is added."
          />
        )}
      </Heading>
      {[...(entitlements?.errors ?? []), ...(entitlements?.warnings ?? [])].map((text) => (
        <p key={text} class="banner">
          {text}
        </p>
      ))}
      <List
        name="Licenses"
        rows={licenses.data?.licenses}
        from={licenses}
        empty="No license. Without keys for licenses, all features are on."
        columns={[
          {
            title: "License",
            show: ({ id, uuid, claims }) => (
              <>
                <b>License {id}</b>
                <span class="faint block">{typeof claims.account_id === "string" ? claims.account_id : uuid}</span>
              </>
            ),
          },
          { title: "Added", show: ({ uploadedAt }) => <Time at={uploadedAt} /> },
          { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          { title: "Grace period ends", show: ({ gracePeriodEndsAt }) => <Time at={gracePeriodEndsAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ id }) =>
              may("delete") && (
                <Action
                  label="Delete"
                  on={String(id)}
                  title={`Delete license ${id}`}
                  look="danger"
                  confirm="The features that only this license allows are switched off."
                  run={DeleteLicense}
                  given={{ id }}
                />
              ),
          },
        ]}
      />
      {entitlements && (
        <Panel title="Features">
          <List
            name="Features"
            rows={entitlements.features}
            empty="There are no features."
            keyOf={({ name }) => name}
            columns={[
              { title: "Feature", show: ({ name }) => wordsOf(name) },
              { title: "License", show: ({ entitlement }) => <Status name={entitlement} /> },
              {
                title: "State",
                show: ({ enabled }) => <Status name={enabled ? "YES" : "OFF"} label={enabled ? "On" : "Off"} />,
              },
              {
                title: "Use",
                show: ({ actual, limit }) =>
                  (actual != null || limit != null) && <Share part={actual ?? 0} of={limit} />,
              },
            ]}
          />
        </Panel>
      )}
    </>
  );
}
