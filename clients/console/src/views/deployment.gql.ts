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

export type IdentityProviderType =
  | 'GITHUB'
  | 'OIDC';

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

export type HealthQueryVariables = Exact<{
  encryption: boolean;
}>;


export type HealthQuery = { applicationsHost: string, serverInfo: { version: string, commit: string | null, accessUrl: string, deploymentId: string, passwordAuth: boolean, sendsPasscodes: boolean, identityProviders: Array<{ label: string, type: IdentityProviderType }> }, encryptionStatus?: { activeKeyId: string | null, keys: Array<{ id: string, present: boolean, rows: Array<{ table: string, count: number }> }> }, regions: Array<{ id: string, name: string, displayName: string, healthy: boolean, pathAppUrl: string }> };

export const Appearance = operation<AppearanceQuery, AppearanceQueryVariables>("query Appearance { appearance { applicationName logoUrl docsUrl announcementBanners { enabled message backgroundColor } supportLinks { name target } } }");
export const UpdateAppearance = operation<UpdateAppearanceMutation, UpdateAppearanceMutationVariables>("mutation UpdateAppearance($input: UpdateAppearanceInput!) { updateAppearance(input: $input) { appearance { applicationName } } }", {"announcementBanners":{"type":"BannerInput","hint":"Banners shown to every user, at most 20.","isList":true},"applicationName":{"type":"String","hint":"Name of the application, at most 64 characters."},"logoUrl":{"type":"String","hint":"URL of the logo: a path on this server, or an http or https URL."},"serviceBanner":{"type":"BannerInput","hint":"The only banner if `announcementBanners` is omitted. Ignored if all of its fields are empty."}});
export const Licenses = operation<LicensesQuery, LicensesQueryVariables>("query Licenses { licenses { id uuid uploadedAt expiresAt gracePeriodEndsAt claims } entitlements { hasLicense trial errors warnings refreshedAt features { name enabled entitlement actual limit } } }");
export const AddLicense = operation<AddLicenseMutation, AddLicenseMutationVariables>("mutation AddLicense($input: AddLicenseInput!) { addLicense(input: $input) { license { id } } }", {"license":{"type":"String","hint":"The license: a JWT of at most 16 KiB.","isRequired":true}});
export const DeleteLicense = operation<DeleteLicenseMutation, DeleteLicenseMutationVariables>("mutation DeleteLicense($input: DeleteLicenseInput!) { deleteLicense(input: $input) { license { id } } }", {"id":{"type":"Int","hint":"Number of the license.","isRequired":true}});
export const RefreshEntitlements = operation<RefreshEntitlementsMutation, RefreshEntitlementsMutationVariables>("mutation RefreshEntitlements { refreshEntitlements { entitlements { refreshedAt } } }");
export const Health = operation<HealthQuery, HealthQueryVariables>("query Health($encryption: Boolean!) { serverInfo { version commit accessUrl deploymentId passwordAuth sendsPasscodes identityProviders { label type } } encryptionStatus @include(if: $encryption) { activeKeyId keys { id present rows { table count } } } regions { id name displayName healthy pathAppUrl } applicationsHost }");