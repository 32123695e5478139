// Libraries with which receivers verify events, on what the server sends.
import { expect } from "chai";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { changeEndpoint, EventReceiver, makeEndpoint, toThisMachine } from "../support/event-receiver.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

describe("libraries that verify webhooks", () => {
  const the = world(toThisMachine);

  for (const [name, Library] of Object.entries({ standardwebhooks: StandardWebhook, svix: SvixWebhook }))
    it(`accept with ${name} what the server signs, also while the secret changes, and nothing else`, async () => {
      const w = the();
      const receiver = await EventReceiver.open();
      const { id, secret } = await makeEndpoint(w, receiver.url, { name, eventTypes: ["group.create"] });
      const { text } = await changeEndpoint(w.as(w.owner), "createEventEndpointSecret", { endpoint: id }, "text");
      await w.group(`verified-by-${name}`);
      await eventually(() => receiver.received.length > 0, "the event arrives", 15_000);
      const { headers, text: body } = receiver.received[0]!;
      const verify = (by: string, changes: Record<string, string> = {}, sent = body) =>
        new Library(by).verify(sent, { ...(headers as Record<string, string>), ...changes });
      for (const each of [secret, text as string]) expect(() => verify(each)).to.not.throw();
      const stranger = `whsec_${Buffer.alloc(32, "stranger").toString("base64")}`;
      const late = String(Number(headers["webhook-timestamp"]) - 600);
      for (const [what, attempt] of Object.entries({
        "another secret": () => verify(stranger),
        "another body": () => verify(secret, {}, body.replace("verified", "forged")),
        "another id": () => verify(secret, { "webhook-id": "other" }),
        "an old message": () => verify(secret, { "webhook-timestamp": late }),
        "no signature": () => verify(secret, { "webhook-signature": "" }),
      }))
        expect(attempt, what).to.throw();
      await receiver.close();
    });
});
