// The bare loop: returns how many passwords it verified in the milliseconds of the path, several at a time.
import argon2 from "argon2";
import { hashOfAll, password } from "../accounts.js";
import { segment, serve } from "./serve.js";

const hash = await hashOfAll();
const atOnce = Number(process.env.BENCH_HASHES_AT_ONCE);

serve(async (request) => {
  const end = performance.now() + Number(segment(request, 1));
  const begun = performance.now();
  let verified = 0;
  const loop = async () => {
    for (; performance.now() < end; verified++) {
      if (!(await argon2.verify(hash, password))) throw new Error("The password is wrong.");
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  return JSON.stringify({ perSecond: (verified / (performance.now() - begun)) * 1_000 });
});
