import { useData } from "../api/hooks";
import { Choice } from "../ui/list";
import { usePlace } from "../ui/place";
import type { Options } from "../ui/form";
import { titleOf } from "../ui/text";
import { Organizations } from "./organization-choice.gql";

/** The organization whose objects a view shows: that of the address, otherwise the default one or the first. */
export function useOrganization() {
  const place = usePlace();
  const { data, error, refresh } = useData(Organizations, {});
  const all = data?.organizations ?? [];
  const wanted = place.get("organization");
  const chosen =
    all.find(({ id, name }) => id === wanted || name === wanted) ?? all.find(({ isDefault }) => isDefault) ?? all[0];
  return { place, all, chosen, error, refresh };
}

/** A field for the organization, if there is a choice. */
export const OrganizationChoice = ({ of: { all, chosen, place } }: { of: ReturnType<typeof useOrganization> }) =>
  all.length > 1 ? (
    <Choice
      place={place}
      label="Organization"
      name="organization"
      any={chosen && titleOf(all.find(({ isDefault }) => isDefault) ?? all[0]!)}
      options={optionsOf(all.filter((each) => each !== (all.find(({ isDefault }) => isDefault) ?? all[0])))}
    />
  ) : undefined;

/** Objects as options: with their exact names where their titles are equal. */
export const optionsOf = (all: ReadonlyArray<{ id: string; name: string; displayName: string }>): Options =>
  all.map((each) => {
    const title = titleOf(each);
    const isUnique = all.filter((other) => titleOf(other) === title).length < 2;
    return [each.id, isUnique ? title : `${title} (${each.name})`] as const;
  });

/** All organizations that the caller can read, as options: first the default one, which new objects are usually of. */
export function useOrganizationOptions(): Options {
  const { data } = useData(Organizations, {});
  return optionsOf((data?.organizations ?? []).toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault)));
}
