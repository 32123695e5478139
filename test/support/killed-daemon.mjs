// A daemon that accepts one job, reports that to its parent, and waits to be killed.
import { WebSocket } from "ws";

const [url, key] = process.argv.slice(2);
const path = "/api/v2/organizations/default/provisionerdaemons/serve?provisioner=echo";
const socket = new WebSocket(url.replace("http", "ws") + path, "graphql-transport-ws", {
  headers: { "Service-Provisioner-Key": key },
});
const send = (message) => socket.send(JSON.stringify(message));
const work = `subscription { provisionerWorkReceived(slots: 2) { ... on ProvisionerJobAssigned { jobId lease } } }`;
const accept = `mutation($input: AcceptProvisionerJobInput!) { acceptProvisionerJob(input: $input) { expiresAt } }`;
let accepted = false;

socket.on("open", () => send({ type: "connection_init" }));
socket.on("message", (data) => {
  const { type, id, payload } = JSON.parse(data);
  if (type === "connection_ack") send({ type: "subscribe", id: "work", payload: { query: work } });
  if (type === "next" && id === "work" && !accepted) {
    accepted = true;
    const { jobId, lease } = payload.data.provisionerWorkReceived;
    send({ type: "subscribe", id: "accept", payload: { query: accept, variables: { input: { jobId, lease } } } });
  }
  if (type === "next" && id === "accept") process.send("accepted");
});
