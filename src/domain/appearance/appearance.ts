import type { Context } from "../kernel/context.js";
import type { SupportLink } from "./support-links.js";
import { diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { hasFeature, requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";
import { iconProblem, proseProblem } from "../kernel/text.js";

/** A message that clients show to everybody. */
export interface Banner {
  enabled: boolean;
  /** Markdown without HTML. */
  message: string;
  /** `#` and six hex digits. */
  backgroundColor: string;
}

/** What administrators set of the looks. */
export interface ChosenAppearance {
  applicationName: string;
  logoUrl: string;
  announcementBanners: Banner[];
}

/** The looks of the deployment. */
export interface Appearance extends ChosenAppearance {
  docsUrl: string;
  supportLinks: SupportLink[];
}

const chosen = siteSetting<ChosenAppearance>("appearance", {
  applicationName: "",
  logoUrl: "",
  announcementBanners: [],
});

const noBanner: Banner = { enabled: false, message: "", backgroundColor: "" };

/** The first announcement banner, for clients that know of one only. */
export const serviceBannerOf = ({ announcementBanners: [first = noBanner] }: ChosenAppearance): Banner => first;

export async function readAppearance(ctx: Context): Promise<Appearance> {
  return whole(ctx, hasFeature(ctx, "appearance") ? await readSiteSetting(ctx, chosen) : chosen.initially);
}

function whole({ config }: Context, appearance: ChosenAppearance): Appearance {
  const { docsUrl = "", supportLinks } = config;
  const docs = { name: "Documentation", target: docsUrl, icon: "docs", location: "navbar" };
  return { ...appearance, docsUrl, supportLinks: supportLinks ?? (docsUrl ? [docs] : []) };
}

type Given<Value> = { [Key in keyof Value]?: Value[Key] | null };

/** Looks that replace all that were chosen before. What is left out is empty. */
export interface UpdateAppearance extends Given<Omit<ChosenAppearance, "announcementBanners">> {
  announcementBanners?: Array<Given<Banner>> | null;
  /** The only banner where there is no list of them, unless it is blank. */
  serviceBanner?: Given<Banner> | null;
}

/** What is stored now, and the service banner as it was given. */
export interface UpdatedAppearance {
  appearance: Appearance;
  serviceBanner: Banner;
}

const mostBanners = 20;
const longestMessage = 3000;
const longestName = 64;

/** Replaces the looks of the deployment. */
export async function updateAppearance(ctx: Context, input: UpdateAppearance): Promise<UpdatedAppearance> {
  authorize(ctx.actor, "deployment_config:update");
  requireFeature(ctx, "appearance");
  const serviceBanner = input.serviceBanner ? completed(input.serviceBanner) : undefined;
  const appearance = {
    applicationName: input.applicationName ?? "",
    logoUrl: input.logoUrl ?? "",
    announcementBanners: input.announcementBanners?.map(completed) ?? alone(serviceBanner),
  };
  requireSound(appearance, input.announcementBanners ? "announcementBanners" : "serviceBanner");

  const diff = diffOf(await replaceSiteSetting(ctx, chosen, appearance), appearance);
  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", resourceType: "appearance", diff });
  return { appearance: whole(ctx, appearance), serviceBanner: serviceBanner ?? serviceBannerOf(appearance) };
}

const completed = ({ enabled, message, backgroundColor }: Given<Banner>): Banner => ({
  enabled: enabled ?? false,
  message: message ?? "",
  backgroundColor: backgroundColor ?? "",
});

const alone = (banner = noBanner): Banner[] =>
  banner.enabled || banner.message !== "" || banner.backgroundColor !== "" ? [banner] : [];

/** Throws every fault; `source` is where the banners came from. */
function requireSound(
  { applicationName, logoUrl, announcementBanners }: ChosenAppearance,
  source: "announcementBanners" | "serviceBanner",
): void {
  const problems = new Problems();
  problems.add(
    source,
    announcementBanners.length > mostBanners ? `Must be at most ${mostBanners} banners.` : undefined,
  );
  for (const [index, { message, backgroundColor }] of announcementBanners.slice(0, mostBanners).entries()) {
    const field = source === "serviceBanner" ? source : `${source}[${index}]`;
    problems.add(`${field}.message`, proseProblem(message, longestMessage));
    problems.add(`${field}.backgroundColor`, colorProblem(backgroundColor));
  }
  problems.add("applicationName", proseProblem(applicationName, longestName));
  problems.add("logoUrl", iconProblem(logoUrl));
  problems.throwIfAny();
}

const colorProblem = (text: string): string | undefined =>
  /^#[0-9a-f]{6}$/i.test(text) ? undefined : "Must be # and six hexadecimal digits.";
