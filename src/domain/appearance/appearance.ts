import type { Context } from "../kernel/context.js";
import type { SupportLink } from "./support-links.js";
import { authorize } from "../authorization/authorization.js";
import { hasFeature, requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { logo, logoUrlOf, storeLogo, type StoredLogo } from "./logo.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";
import {
  faultOf,
  flag,
  type Input,
  inputOf,
  label,
  list,
  matching,
  optional,
  orEmpty,
  prose,
} from "../kernel/values.js";

/** A message that clients show to all users. */
export interface Banner {
  enabled: boolean;
  /** Markdown without HTML. */
  message: string;
  /** `#` and six hex digits. */
  backgroundColor: string;
}

/** The part of the appearance that visitors see. */
export interface Branding {
  applicationName: string;
  logoUrl: string;
}

/** The part of the appearance that administrators set. */
export interface ChosenAppearance extends Branding {
  announcementBanners: Banner[];
}

/** The appearance of the deployment. */
export interface Appearance extends ChosenAppearance {
  docsUrl: string;
  supportLinks: SupportLink[];
}

const chosen = siteSetting<ChosenAppearance & StoredLogo>("appearance", {
  applicationName: "",
  logoUrl: "",
  logoFile: null,
  announcementBanners: [],
});

const noBanner: Banner = { enabled: false, message: "", backgroundColor: "" };

/** The first announcement banner, for clients that support only one. */
export const serviceBannerOf = ({ announcementBanners: [first = noBanner] }: ChosenAppearance): Banner => first;

export async function readAppearance(ctx: Context): Promise<Appearance> {
  return complete(ctx, hasFeature(ctx, "appearance") ? await readSiteSetting(ctx, chosen) : chosen.initially);
}

function complete(ctx: Context, { logoFile, ...appearance }: ChosenAppearance & StoredLogo): Appearance {
  const { docsUrl = "", supportLinks } = ctx.config;
  const logoUrl = logoUrlOf(ctx, { ...appearance, logoFile });
  const docs = { name: "Documentation", target: docsUrl, icon: "docs", location: "navbar" };
  return { ...appearance, logoUrl, docsUrl, supportLinks: supportLinks ?? (docsUrl ? [docs] : []) };
}

type Given<Value> = { [Key in keyof Value]?: Value[Key] | null };

const maxBanners = 20;
const maxMessageLength = 3000;
const maxNameLength = 64;

const color = matching(/^#[0-9a-fA-F]{6}$/, "Must be # and six hexadecimal digits.");

export const ChangedBanner = inputOf({
  enabled: optional(flag, "Whether the banner is shown. Default: false."),
  message: optional(prose(maxMessageLength), "Text in Markdown, {limits}."),
  backgroundColor: optional(
    orEmpty(color),
    "Background color: `#` and six hexadecimal digits. Required for a banner that is shown or has a text.",
  ),
});
export type ChangedBanner = Input<typeof ChangedBanner>;

/** An appearance that replaces the stored one. Absent fields become empty. */
export const UpdateAppearance = inputOf({
  announcementBanners: optional(list(maxBanners, ChangedBanner), "Banners shown to every user, {limits}."),
  applicationName: optional(label(maxNameLength), "Name of the application, {limits}."),
  logoUrl: optional(
    logo,
    "URL of the logo: {limits}. The server keeps a file until another logo is set, and `logoUrl` is its URL then.",
  ),
  serviceBanner: optional(
    ChangedBanner,
    "The only banner if `announcementBanners` is omitted. Ignored if all of its fields are empty.",
  ),
});
export type UpdateAppearance = Input<typeof UpdateAppearance>;

/** The stored appearance, and the given service banner. */
export interface UpdatedAppearance {
  appearance: Appearance;
  serviceBanner: Banner;
}

/** Replaces the appearance of the deployment. Throws FORBIDDEN without the permission or the license. */
export async function updateAppearance(ctx: Context, input: UpdateAppearance): Promise<UpdatedAppearance> {
  authorize(ctx.actor, "deployment_config:update");
  requireFeature(ctx, "appearance");
  const serviceBanner = input.serviceBanner ? bannerOf(input.serviceBanner) : undefined;
  const given = {
    applicationName: input.applicationName ?? "",
    logoUrl: input.logoUrl ?? "",
    announcementBanners: input.announcementBanners?.map(bannerOf) ?? unlessBlank(serviceBanner),
  };
  requireValid(given, input.announcementBanners ? "announcementBanners" : "serviceBanner", serviceBanner);

  // Another update must not remove the file that this one keeps.
  await takeTurn(ctx, "appearance");
  const appearance = { ...given, ...(await storeLogo(ctx, given.logoUrl)) };
  await replaceSiteSetting(ctx, chosen, appearance, { resourceType: "appearance" });
  return { appearance: complete(ctx, appearance), serviceBanner: serviceBanner ?? serviceBannerOf(appearance) };
}

const bannerOf = ({ enabled, message, backgroundColor }: Given<Banner>): Banner => ({
  enabled: enabled ?? false,
  message: message ?? "",
  backgroundColor: backgroundColor ?? "",
});

const unlessBlank = (banner = noBanner): Banner[] =>
  banner.enabled || banner.message !== "" || banner.backgroundColor !== "" ? [banner] : [];

/**
 * Throws all faults together; `source` is the field that supplied the banners. The text of a service banner has its limit
 * even if a list of banners is sent too, since the response has it.
 */
function requireValid(
  { applicationName, logoUrl, announcementBanners }: ChosenAppearance,
  source: "announcementBanners" | "serviceBanner",
  serviceBanner = noBanner,
): void {
  const problems = new Problems();
  problems.add(source, announcementBanners.length > maxBanners ? `Must be at most ${maxBanners} banners.` : undefined);
  for (const [index, { message, backgroundColor }] of announcementBanners.slice(0, maxBanners).entries()) {
    const field = source === "serviceBanner" ? source : `${source}[${index}]`;
    problems.add(`${field}.message`, faultOf(prose(maxMessageLength), message));
    problems.add(`${field}.backgroundColor`, faultOf(color, backgroundColor));
  }
  if (source !== "serviceBanner")
    problems.add("serviceBanner.message", faultOf(prose(maxMessageLength), serviceBanner.message));
  problems.add("applicationName", faultOf(label(maxNameLength), applicationName));
  problems.add("logoUrl", faultOf(logo, logoUrl));
  problems.throwIfAny();
}
