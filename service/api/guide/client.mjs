// Example client: plays and verifies one hand. Node 20, without dependencies.

import { writeFileSync } from "node:fs";
import { createHash, createHmac, createPublicKey, randomBytes, verify } from "node:crypto";

// == call: One function for every call
const SERVICE = process.argv[2] ?? "http://127.0.0.1:8080";
let token = null;

/** Return the answer to a request; throws the problem if the service refuses it. */
async function call(method, path, body, headers = {}) {
  const sent = { "Content-Type": "application/json", ...headers };
  if (token) sent.Authorization = `Bearer ${token}`;
  const answer = await fetch(SERVICE + path, {
    method,
    headers: sent,
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  if (!answer.ok) throw Object.assign(new Error(path), { problem: await answer.json() });
  return answer;
}

/** Return the JSON of an answer; a poll that found no place to wait asks for a pause. */
async function ask(...request) {
  const answer = await call(...request);
  await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.headers.get("Retry-After"))));
  return answer.json();
}

// == register: Register a player
const player = await ask("POST", "/v1/players", { name: "Ada" });
token = player.token; // shown once, like player.recovery: store both
console.log("registered as", player.id);

// == table: Open a table
const table = await ask("POST", "/v1/tables", {
  ruleset: "shithead",
  seats: ["me", { bot: "greedy" }, { bot: "lowest" }],
  entropy: "value", // this client adds to the shuffle
  turn_limit: 200, // a hand of bots could be long
});
let GAME_PATH = `/v1/games/${table.game}`;
await ask("POST", `${GAME_PATH}/entropy`, { value: randomBytes(32).toString("hex") });
console.log("playing", table.game);

// == stream: Follow the game
/** Yield each event of the game, as it happens, until the seal. */
async function* follow(after = 0) {
  const answer = await call("GET", `${GAME_PATH}/stream?after=${after}`, undefined, {
    Accept: "text/event-stream",
  });
  let text = "";
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const blocks = text.split("\n\n");
    text = blocks.pop(); // still incomplete
    for (const block of blocks) {
      const lines = block.split("\n").map((line) => line.split(/: (.*)/s));
      const { event, data } = Object.fromEntries(lines);
      if (event === "end") return;
      if (data) yield JSON.parse(data); // other blocks are comments
    }
  }
}

// == play: Play
/** Return the move to make: the lowest play; twos and tens are saved for later. */
function choose(moves) {
  const preferred = ["swap", "pass", "pick_up", "play_blind", "play", "ready"]; // the best last
  const ranks = "T2AKQJ9876543";
  const worth = ({ type, cards = [" "] }) =>
    100 * preferred.indexOf(type) + 5 * ranks.indexOf(cards[0][0]) + cards.length;
  return moves.reduce((best, move) => (worth(move) > worth(best) ? move : best));
}

const receipts = [];
for await (const event of follow()) {
  console.log(event.seq, event.type, event.by);
  const view = await ask("GET", GAME_PATH);
  if (event.seq + 1 < view.version || view.moves.length === 0) continue; // a past event, or not our turn
  try {
    const seen = { "If-Match": `"v${view.version}"` };
    const done = await ask("POST", `${GAME_PATH}/moves`, choose(view.moves), seen);
    receipts.push(done.receipt);
  } catch (error) {
    if (![409, 412].includes(error.problem?.status)) throw error; // another seat was faster: use the next view
  }
}
receipts.push(await (await call("GET", `${GAME_PATH}/receipt`)).text()); // for the whole hand
console.log("result", (await ask("GET", GAME_PATH)).result);

// == replay: Look at the hand again
const replay = await ask("GET", `${GAME_PATH}/replay?as=all`);
for (const frame of replay.items.slice(-3)) console.log(frame.seq, frame.caption);

// == evidence: Download the evidence
const bundle = Buffer.from(await (await call("GET", `${GAME_PATH}/evidence`)).arrayBuffer());
const keys = await (await call("GET", "/v1/keys")).text();
writeFileSync("game.shx", bundle);
writeFileSync("mine.note", receipts.at(-1));
writeFileSync("keys.json", keys);
const ndjson = { Accept: "application/x-ndjson" };
const log = await (await call("GET", `${GAME_PATH}/events`, undefined, ndjson)).text();
if (!bundle.includes(log)) throw new Error("the bundle has another log"); // it is not compressed
console.log("saved game.shx, mine.note and keys.json");

// == verify: Verify it
const hex = (text) => Buffer.from(text, "hex");
const big = (size, number) => hex(BigInt(number).toString(16).padStart(2 * size, "0"));
const sha256 = (data) => createHash("sha256").update(data).digest();

/** Return the parts of a hash, each after its length (SHX/1, section 1). */
const enc = (parts) =>
  Buffer.concat(parts.map(Buffer.from).flatMap((part) => [big(4, part.length), part]));
const th = (tag, ...parts) => sha256(enc([tag, ...parts]));
const tm = (key, tag, ...parts) => createHmac("sha256", key).update(enc([tag, ...parts])).digest();

/** Yield 32-bit words from a key (SHX/1, section 3). */
function* words(key) {
  for (let number = 0; ; number++) {
    const block = tm(key, "shx/1/stream", big(8, number));
    for (let at = 0; at < 32; at += 4) yield block.readUInt32BE(at);
  }
}

/** Return a number below n; all are equally likely. */
function uniform(n, stream) {
  const limit = 2 ** 32 - (2 ** 32 % n);
  for (;;) {
    const word = stream.next().value;
    if (word < limit) return word % n;
  }
}

/** Throw an error with this message unless the condition is true. */
function check(condition, message) {
  if (!condition) throw new Error(message);
}

const lines = log.trimEnd().split("\n");
const events = lines.map((line) => JSON.parse(line));
const gameBytes = hex(table.game.replaceAll("-", ""));

const heads = [th("shx/1/genesis", gameBytes)]; // the chain: each event names the head before it
for (const [seq, line] of lines.entries()) {
  check(events[seq].prev === heads[seq].toString("hex"), `the chain breaks at ${seq}`);
  heads.push(sha256("\0" + line));
}

const { data: created } = events[0];
const { data: seal } = events.at(-1);
const seed = hex(seal.seed); // must match the commitment in the first event
check(th("shx/1/server-seed", gameBytes, seed).toString("hex") === created.commit, "another seed");

const entropy = created.seats.map(() => "");
for (const { type, data } of events) {
  if (type === "entropy_revealed") entropy[data.seat] = hex(data.value);
}
const { decks, jokers, partial } = created.deck;
check(decks === 1 && jokers === 0 && partial.length === 0, "not the deck of `shithead`");
const deck = [..."cdhs"].flatMap((suit) => [..."23456789TJQKA"].map((rank) => rank + suit));
const bound = th("shx/1/transcript", gameBytes, heads[1], JSON.stringify(deck), ...entropy);
const stream = words(tm(seed, "shx/1/deck", bound));
for (let last = deck.length - 1; last > 0; last--) {
  const other = uniform(last + 1, stream);
  [deck[last], deck[other]] = [deck[other], deck[last]];
}
check(deck.join() === seal.deck.join(), "the deck is not the one that follows from the seed");

const salts = tm(seed, "shx/1/salt", bound);
const { cards } = events.find((event) => event.type === "deck_committed").data;
for (const [place, card] of deck.entries()) {
  const salt = tm(salts, "shx/1/card-salt", big(2, place)); // each card must match its commitment
  const commitment = th("shx/1/card", gameBytes, big(2, place), card, salt);
  check(commitment.toString("hex") === cards[place], `another card at ${place}`);
}

console.log("verified", events.length, "events: one chain, and the deck that was fixed before");

// == receipt: Check your own receipts
const spki = "302a300506032b6570032100"; // the DER prefix of an Ed25519 public key
const publicKey = Buffer.from(JSON.parse(keys).items[0].public, "base64");
const der = Buffer.concat([hex(spki), publicKey]); // better: keys stored before the game
const serverKey = createPublicKey({ key: der, format: "der", type: "spki" });
for (const receipt of receipts) {
  // Each head that the server signed during play is in this log, and the signature is valid.
  const [body, note] = receipt.split("\n\n");
  const [, version, head] = body.split("\n");
  check(heads[version].toString("base64") === head, `another history at version ${version}`);
  const signature = Buffer.from(note.trim().split(" ")[2], "base64").subarray(4);
  check(verify(null, body + "\n", serverKey, signature), "not signed by the server");
}

// Any server can check the rules of the game, not only this one.
const form = new FormData();
const parts = { file: bundle, receipt: receipts.at(-1), key: keys };
for (const [name, content] of Object.entries(parts)) {
  form.append(name, new Blob([content]), name);
}
const audit = await (await fetch(`${SERVICE}/v1/verify`, { method: "POST", body: form })).json();
check(audit.result === "pass" && audit.level === "L2", audit.wording ?? audit.detail);
console.log(events.length, "events,", receipts.length, "receipts:", audit.wording);

// == again: Deal the next hand
const { game: view } = await ask("POST", `/v1/tables/${table.id}/games`, {}); // a view, not an id
GAME_PATH = `/v1/games/${view.id}`; // continue with its entropy, and follow it
console.log("hand", view.hand, "is", view.id);
// With `deal: "always"` in the request of step 2 the service deals each next hand itself.
await ask("POST", "/v1/tables", { like: table.id }); // the same again; invites its players
for (const invitation of (await ask("GET", "/v1/players/me/invitations")).items) {
  await ask("POST", `/v1/tables/${invitation.table}/seats`, {}); // accepted
}

// == own: Wait for your turn at all tables
const wanted = { name: "bot", scopes: ["read", "play"] };
({ token } = await ask("POST", "/v1/players/me/tokens", wanted)); // the first token stays valid
const present = await ask("GET", "/v1/players/me/stream");
for (const { type, id, version } of present.items) console.log(type, id, "at version", version);
const later = await ask("GET", `/v1/players/me/stream?wait=1&after=${present.next}`); // until it differs
console.log(later.items.length, "notices");
