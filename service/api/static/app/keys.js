/**
 * A signing key of this browser: Ed25519, made by WebCrypto, kept in IndexedDB, never extractable.
 *
 * A player who asks for it signs each move together with the head of the log before it (protocol,
 * section 5). Another browser of the same player has no such key and cannot move at that table.
 */

import { base64, utf8 } from "../verifier/bytes.js";
import { canonical } from "../verifier/canonical.js";
import { randomHex } from "./api.js";

const WANTED = "shithead.sign";
const ALGORITHM = { name: "Ed25519" };

/** @returns {boolean} whether the player asked to sign moves */
export const signing = () => localStorage.getItem(WANTED) === "yes";

/** @param {boolean} wanted */
export const setSigning = (wanted) => localStorage.setItem(WANTED, wanted ? "yes" : "no");

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
const found = async () => done((await store("readonly")).get("player"));

/** @returns {Promise<CryptoKeyPair>} */
async function keyPair() {
  const known = await found();
  if (known) return known;
  const made = /** @type {CryptoKeyPair} */ (await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"]));
  await done((await store("readwrite")).put(made, "player"));
  return made;
}

/** @returns {Promise<boolean>} whether this browser can make and keep such a key */
export async function canSign() {
  try {
    await crypto.subtle.generateKey(ALGORITHM, false, ["sign"]);
    return true;
  } catch {
    return false;
  }
}

/** @returns {Promise<{key?: string}>} what to add when taking a seat: the public key, or nothing */
export async function seatKey() {
  if (!signing() || !(await canSign())) return {};
  const { publicKey } = await keyPair();
  return { key: base64(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))) };
}

/**
 * Return the move as it is posted: signed if the seat has a key and it is in this browser.
 *
 * @param {Api["Move"]} move
 * @param {Api["GameView"]} view what the player saw
 * @param {string | undefined} head of the last event seen, as this browser worked it out
 * @returns {Promise<Api["Move"]>}
 */
export async function signed(move, view, head) {
  const seat = view.as;
  if (typeof seat !== "number" || !view.seats[seat].key) return move;
  const pair = await found();
  if (!pair) return move;
  const full = /** @type {Api["SignedMove"]} */ (move.type === "pick_up" ? { with: [], ...move } : move);
  const seen = { seq: view.version - 1, head: head ?? view.head };
  /** @type {Api["Intent"]} */
  const intent = { v: 1, game: view.id, seat, seen, move: full, nonce: randomHex(16) };
  const text = /** @type {BufferSource} */ (utf8(`shx/1/move\n${canonical(intent)}`));
  const signature = await crypto.subtle.sign(ALGORITHM, pair.privateKey, text);
  return { ...full, auth: { intent, sig: base64(new Uint8Array(signature)) } };
}
