/**
 * The signing key of this browser: Ed25519, from WebCrypto, stored in IndexedDB, not extractable.
 *
 * A player who turns it on signs each move together with the head of the log before it (SHX/1,
 * section 5). Another browser of the same player does not have the key and cannot move at that table.
 */

import { base64, utf8 } from "../verifier/bytes.js";
import { canonical } from "../verifier/canonical.js";
import { randomHex } from "./api.js";
import { read, write } from "./storage.js";

const SIGNING = "shithead.sign";
const ALGORITHM = { name: "Ed25519" };

/** @returns {boolean} whether the player has turned on signing */
export const signing = () => read(SIGNING) === "yes";

/** @param {boolean} on */
export const setSigning = (on) => write(SIGNING, on ? "yes" : "no");

const done = (/** @type {IDBRequest} */ request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** @param {IDBTransactionMode} mode */
async function store(mode) {
  const opening = indexedDB.open("shithead", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
  const database = await done(opening);
  return database.transaction("keys", mode).objectStore("keys");
}

/** @returns {Promise<CryptoKeyPair | undefined>} the key of this browser, if there is one */
const storedPair = async () => done((await store("readonly")).get("player"));

/** @returns {Promise<CryptoKeyPair>} */
async function keyPair() {
  const stored = await storedPair();
  if (stored) return stored;
  const pair = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]));
  await done((await store("readwrite")).put(pair, "player"));
  return pair;
}

/** @returns {Promise<boolean>} whether this browser can create and store such a key */
export async function canSign() {
  try {
    await crypto.subtle.generateKey(ALGORITHM, false, ["sign"]);
    await store("readonly");
    return true;
  } catch {
    return false;
  }
}

/** @returns {Promise<{key?: string}>} the fields to add to a request for a seat: the public key, or none */
export async function seatKey() {
  if (!signing() || !(await canSign())) return {};
  const { publicKey } = await keyPair();
  return { key: base64(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))) };
}

/**
 * Return the move as it is posted: signed if the seat has a key and it is in this browser.
 *
 * @param {Api["Move"]} move
 * @param {Api["GameView"]} view that the player saw
 * @param {string | undefined} head of the last event seen, as this browser computed it
 * @returns {Promise<Api["Move"]>}
 */
export async function signed(move, view, head) {
  const seat = view.as;
  if (typeof seat !== "number" || !view.seats[seat].key) return move;
  const pair = await storedPair();
  if (!pair) return move;
  const full = /** @type {Api["SignedMove"]} */ (move.type === "pick_up" ? { with: [], ...move } : move);
  const seen = { seq: view.version - 1, head: head ?? view.head };
  /** @type {Api["Intent"]} */
  const intent = { v: 1, game: view.id, seat, seen, move: full, nonce: randomHex(16) };
  const text = /** @type {BufferSource} */ (utf8(`shx/1/move\n${canonical(intent)}`));
  const signature = await crypto.subtle.sign(ALGORITHM, pair.privateKey, text);
  return { ...full, auth: { intent, sig: base64(new Uint8Array(signature)) } };
}
