// Koa without anything: one middleware, which sends a constant.
import type { AddressInfo } from "node:net";
import Koa from "koa";

const app = new Koa();
app.use((ctx) => {
  ctx.body = "ok";
});
const server = app.listen(0, "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
