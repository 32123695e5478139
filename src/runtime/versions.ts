import { fullVersion } from "./program-files.js";
import { describeZoneData } from "./time-zones/zone-data.js";

/** The output of `--version`: the version of this program with its commit, and that of the time zone data by which it computes local times. */
export const versions = (): string => `${fullVersion}\nTime zone data ${describeZoneData()}`;
