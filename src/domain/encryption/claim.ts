import { StartRefused } from "../kernel/errors.js";

/**
 * Throws `StartRefused` if the database has registered encryption keys and this server has none of them. Otherwise two
 * servers could write values that the other one cannot decrypt.
 *
 * @param claimed Ids of the registered keys of the database.
 * @param own Ids of the keys of this server.
 * @param path Path of this server's key file.
 */
export function rejectClaimedDatabase(claimed: readonly string[], own: readonly string[], path: string): void {
  if (claimed.length === 0 || claimed.some((id) => own.includes(id))) return;
  const lack = own.length > 0 ? `This server has ${own.join(", ")} instead` : "This server has no key";
  throw new StartRefused(
    `Another server has claimed this database with the encryption key ${claimed.join(", ")}. ${lack}. ` +
      "All servers of a database share their keys: set STEWARD_ENCRYPTION_KEYS to the same value on all of them, " +
      `or copy the key file of the other server (encryption.keys in its data directory) to ${path}.`,
  );
}
