/** Compare the arithmetic of the JavaScript verifier with the test vectors: `node vectors.js FILE`. */

import { webcrypto } from "node:crypto";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { headOf, hex, sha256, unhex, utf8 } from "../../service/api/static/verifier/bytes.js";
import { canonicalBytes, parseCanonical } from "../../service/api/static/verifier/canonical.js";
import {
  deckCodes, genesis, seatCommitment, serverCommitment, shuffled, uniform, words,
} from "../../service/api/static/verifier/cards.js";

globalThis.crypto ??= /** @type {Crypto} */ (webcrypto); // Node.js 18 has no global one

const { uniform: draw, vectors } = JSON.parse(readFileSync(process.argv[2], "utf8"));

let used = 0;
const given = draw.words.map((/** @type {string} */ word) => parseInt(word, 16));
assert.equal(await uniform(async () => given[used++])(draw.n), draw.result);
assert.equal(used, draw.words_used);

for (const vector of vectors) {
  const { game, reveals } = vector;
  const firstLine = utf8(vector.event_0);
  const event = /** @type {any} */ (parseCanonical(firstLine));
  assert.equal(hex(await genesis(game)), vector.genesis);
  assert.equal(hex(await headOf(firstLine)), vector.head_0);
  assert.equal(hex(await headOf(utf8(vector.event_1))), vector.head_1);
  assert.equal(hex(await sha256(canonicalBytes(event.data.ruleset))), event.data.ruleset_hash);
  assert.equal(hex(await serverCommitment(game, unhex(vector.S))), vector.commit);
  for (const [seat, value] of reveals.entries()) {
    if (value) assert.equal(hex(await seatCommitment(game, seat, unhex(value))), vector.client_commits[seat]);
  }
  const codes = deckCodes(event.data.deck);
  assert.equal(hex(await sha256(canonicalBytes(codes))), vector.codes_canonical_sha256);
  const entropy = reveals.map((/** @type {string | null} */ value) => unhex(value ?? ""));
  const made = await shuffled({ game, seed: unhex(vector.S), firstLine, codes, entropy });
  assert.deepEqual(
    [made.keys.T, made.keys.deck, made.keys.salt, made.keys.deal].map(hex),
    [vector.T, vector.K_deck, vector.K_salt, vector.K_deal],
  );
  const next = await words(made.keys.deck);
  let block = "";
  for (let i = 0; i < 8; i++) block += (await next()).toString(16).padStart(8, "0");
  assert.equal(block, vector.stream_K_deck_block_0);
  assert.equal(await made.dealer(reveals.length), vector.dealer);
  assert.deepEqual(made.deck, vector.deck);
  assert.equal(hex(await made.salt(0)), vector.salt_0);
  assert.equal(hex(await made.commitment(0)), vector.c_0);
  assert.equal(hex(await made.commitment(codes.length - 1)), vector.c_last);
}
console.log(`${vectors.length} vectors`);
