// Receives the events of a player: node receiver.mjs SECRET [PORT]. Node 20, without dependencies.
import { createServer } from "node:http";
import { createHmac, timingSafeEqual } from "node:crypto";

const [, , secret, port = "9000"] = process.argv;
const key = Buffer.from(secret.replace("whsec_", ""), "base64");

createServer(async (request, answer) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures = "" } = request.headers;
  const right = Buffer.from(`v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`);
  const equals = (one) => one.length === right.length && timingSafeEqual(Buffer.from(one), right);
  const isFresh = Math.abs(Date.now() / 1000 - Number(at)) < 300;
  if (!isFresh || !signatures.split(" ").some(equals)) return answer.writeHead(400).end();
  const event = JSON.parse(body);
  answer.end(event.challenge ?? ""); // of a ping; an id that comes again is the same event
  console.log(id, event.type, event.id);
}).listen(Number(port), "127.0.0.1");
