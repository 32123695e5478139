import { version } from "./program-files.js";
import { describeZoneData } from "./time-zones/zone-data.js";

/** The output of `--version`: the version of this program, and of the time zone data by which it computes local times. */
export const versions = (): string => `${version}\nTime zone data ${describeZoneData()}`;
