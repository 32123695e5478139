// Generated from deployment.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AddLicenseInput = {
  license: string;
};

export type BannerInput = {
  backgroundColor?: string | null | undefined;
  enabled?: boolean | null | undefined;
  message?: string | null | undefined;
};

export type DeleteLicenseInput = {
  id: number;
};

export type Entitlement =
  | 'ENTITLED'
  | 'GRACE_PERIOD'
  | 'NOT_ENTITLED';

export type UpdateAppearanceInput = {
  announcementBanners?: Array<BannerInput> | null | undefined;
  applicationName?: string | null | undefined;
  logoUrl?: string | null | undefined;
  serviceBanner?: BannerInput | null | undefined;
};

export type AppearanceQueryVariables = Exact<{ [key: string]: never; }>;


export type AppearanceQuery = { appearance: { applicationName: string, logoUrl: string, docsUrl: string, announcementBanners: Array<{ enabled: boolean, message: string, backgroundColor: string }>, supportLinks: Array<{ name: string, target: string }> } };

export type UpdateAppearanceMutationVariables = Exact<{
  input: UpdateAppearanceInput;
}>;


export type UpdateAppearanceMutation = { updateAppearance: { appearance: { applicationName: string } } };

export type LicensesQueryVariables = Exact<{ [key: string]: never; }>;


export type LicensesQuery = { licenses: Array<{ id: number, uuid: string, uploadedAt: string, expiresAt: string | null, gracePeriodEndsAt: string | null, claims: Record<string, unknown> }>, entitlements: { hasLicense: boolean, trial: boolean, errors: Array<string>, warnings: Array<string>, refreshedAt: string, features: Array<{ name: string, enabled: boolean, entitlement: Entitlement, actual: number | null, limit: number | null }> } };

export type AddLicenseMutationVariables = Exact<{
  input: AddLicenseInput;
}>;


export type AddLicenseMutation = { addLicense: { license: { id: number } } };

export type DeleteLicenseMutationVariables = Exact<{
  input: DeleteLicenseInput;
}>;


export type DeleteLicenseMutation = { deleteLicense: { license: { id: number } } };

export type RefreshEntitlementsMutationVariables = Exact<{ [key: string]: never; }>;


export type RefreshEntitlementsMutation = { refreshEntitlements: { entitlements: { refreshedAt: string } } };

export const Appearance = operation<AppearanceQuery, AppearanceQueryVariables>("query Appearance { appearance { applicationName logoUrl docsUrl announcementBanners { enabled message backgroundColor } supportLinks { name target } } }");
export const UpdateAppearance = operation<UpdateAppearanceMutation, UpdateAppearanceMutationVariables>("mutation UpdateAppearance($input: UpdateAppearanceInput!) { updateAppearance(input: $input) { appearance { applicationName } } }", {"announcementBanners":{"type":"BannerInput","limits":{"maxItems":20},"isList":true,"fields":{"backgroundColor":{"type":"String","limits":{"pattern":"^$|^#[0-9a-fA-F]{6}$"}},"enabled":{"type":"Boolean"},"message":{"type":"String","kind":"multi-line","limits":{"maxLength":3000},"words":"at most 3000 characters"}}},"applicationName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"logoUrl":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"serviceBanner":{"type":"BannerInput","fields":{"backgroundColor":{"type":"String","limits":{"pattern":"^$|^#[0-9a-fA-F]{6}$"}},"enabled":{"type":"Boolean"},"message":{"type":"String","kind":"multi-line","limits":{"maxLength":3000},"words":"at most 3000 characters"}}}});
export const Licenses = operation<LicensesQuery, LicensesQueryVariables>("query Licenses { licenses { id uuid uploadedAt expiresAt gracePeriodEndsAt claims } entitlements { hasLicense trial errors warnings refreshedAt features { name enabled entitlement actual limit } } }");
export const AddLicense = operation<AddLicenseMutation, AddLicenseMutationVariables>("mutation AddLicense($input: AddLicenseInput!) { addLicense(input: $input) { license { id } } }", {"license":{"type":"String","kind":"multi-line","limits":{"maxLength":16384},"words":"at most 16384 bytes","isRequired":true}});
export const DeleteLicense = operation<DeleteLicenseMutation, DeleteLicenseMutationVariables>("mutation DeleteLicense($input: DeleteLicenseInput!) { deleteLicense(input: $input) { license { id } } }", {"id":{"type":"Int","isRequired":true}});
export const RefreshEntitlements = operation<RefreshEntitlementsMutation, RefreshEntitlementsMutationVariables>("mutation RefreshEntitlements { refreshEntitlements { entitlements { refreshedAt } } }");