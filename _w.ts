import { strengthOf } from "./src/domain/outside/password-strength.js";
await strengthOf({password:"qwerty", known:[]});
for (const p of ["short-pass-77","an-entirely-other-password-of-mine-77-12","ada-1-has-quite-a-long-password","aB3$".repeat(32), "correct-horse-battery-staple-9", "kd93kdfPQ02lsdkf93nfa0sd9"]) {
const t=performance.now(); for (let i=0;i<5;i++) await strengthOf({password:p+i, known:["ada-1@example.com","ada-1"]}); console.log(p.length, ((performance.now()-t)/5).toFixed(1)); }
process.exit();
