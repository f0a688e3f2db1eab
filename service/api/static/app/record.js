/**
 * Checks of a log in this browser: hash chain, stored receipts, contributed entropy.
 *
 * Random numbers for the shuffle are stored under `shithead.entropy.<game>.<seat>`.
 */

import { NoEd25519, base64, headOf, hex, taggedHash, uint, unhex, utf8, uuidBytes } from "../verifier/bytes.js";
import { keySigned, originSigned, parseNote, parseRestore, readKeys, readRestores } from "../verifier/notes.js";
import { Problem, get, post, randomHex } from "./api.js";
import { receiptsOf, storeKeys, storeReceipt } from "./receipts.js";
import { read, write } from "./storage.js";

const ENTROPY = "shithead.entropy.";

/** Whether this page can hash: that needs a secure context, https or localhost. */
export const canHash = () => Boolean(globalThis.crypto?.subtle);

/** The mode of entropy that this browser supports. */
export const entropyMode = () => (canHash() ? "commit" : "value");

/** Fetch and store the receipt of the present head. @param {string} game */
export async function fetchReceipt(game) {
  storeReceipt(game, await get(`/v1/games/${game}/receipt`, { as: "text" }));
}

/** The keys of the server, fetched once. @type {Promise<import("../verifier/notes.js").NoteKey[]> | undefined} */
let serverKeys;

async function fetchKeys() {
  const keys = await get("/v1/keys", { as: "text" });
  storeKeys(keys);
  return readKeys(keys);
}

/**
 * Hand in the newest receipt of a game whose log lacks its move.
 *
 * @param {string} game
 * @returns {Promise<boolean>} whether the game was aborted, because a declared restore lost the move
 */
export async function handInLost(game) {
  const receipt = receiptsOf(game).pop();
  if (!receipt) return false;
  try {
    await post(`/v1/games/${game}/receipts`, { receipt });
    return true;
  } catch (problem) {
    if (problem instanceof Problem) return false;
    throw problem;
  }
}

/**
 * Return the newest declared restore that can have lost a part of a game: between the begin of the game and an event
 * that stands where another one was. Null without one, without an answer, or if this browser cannot check signatures.
 *
 * @param {string} begun the time of the game's first event
 * @param {string} [recorded] the time of that event; left out if nothing stands there yet
 * @returns {Promise<import("../verifier/notes.js").Restore | null>}
 */
export async function restoreBetween(begun, recorded = "9") {
  if (!canHash()) return null;
  const answer = await get("/v1/keys", { as: "text" }).catch(() => "");
  const keys = await readKeys(answer);
  for (const text of readRestores(answer).reverse()) {
    const note = parseNote(utf8(text));
    const restore = note && parseRestore(note.body);
    if (!restore || restore.at < begun || recorded < restore.at) continue;
    const signed = await originSigned(note, keys, restore.origin).catch((error) => {
      if (error instanceof NoEd25519) return false;
      throw error;
    });
    if (signed) return restore;
  }
  return null;
}

/** @param {string} receipt @returns {Promise<boolean | null>} whether a key of the server signed a receipt; null without an answer. Throws NoEd25519. */
async function signedByServer(receipt) {
  const note = parseNote(utf8(receipt));
  try {
    const keys = await (serverKeys ??= fetchKeys());
    const signed = note ? await Promise.all(keys.map((key) => keySigned(note, key))) : [];
    return signed.includes(true);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    serverKeys = undefined; // no answer: fetched again with the next comparison
    return null;
  }
}

/** The chain of a game's log as its events arrive; it is compared with the stored receipts. */
export class Chain {
  /** @param {string} game @param {(fault: {kind: string, seq: number}) => void} onfault */
  constructor(game, onfault) {
    this.game = game;
    this.onfault = onfault;
    /** Heads in hex by seq. @type {string[]} */
    this.heads = [];
    this.work = Promise.resolve();
    this.faulty = false;
    /** False once this browser has turned out to lack Ed25519. */
    this.canCheckSignatures = true;
    /** Receipts that agree with the log and have a valid signature. @type {Set<string>} */
    this.proven = new Set();
  }

  /** Add the next event, by its exact text. @param {string} line */
  add(line) {
    if (canHash()) this.work = this.work.then(() => this.#link(line));
  }

  /** @param {string} line */
  async #link(line) {
    const { seq, prev } = JSON.parse(line);
    const before = seq ? this.heads[seq - 1] : hex(await taggedHash("shx/1/genesis", uuidBytes(this.game)));
    if (seq !== this.heads.length || prev !== before) this.#fault("chain", seq);
    this.heads[seq] = hex(await headOf(utf8(line)));
  }

  /**
   * Compare the log so far with a view and the stored receipts, and report the first that differs or is unsigned. After a
   * restore another event can stand in the place of the last one.
   *
   * @param {Api["GameView"]} view
   */
  async compare({ version, head }) {
    if (!canHash()) return this.onfault({ kind: "no_hash", seq: version - 1 });
    await this.work;
    const last = this.heads[version - 1];
    if (last !== undefined && last !== head) this.#fault("chain", version - 1);
    for (const note of receiptsOf(this.game)) {
      const [name, version, head] = note.split("\n");
      const seq = Number(version) - 1;
      const known = this.heads[seq];
      if (!name.endsWith(`/g/${this.game}`) || known === undefined) continue;
      if (base64(unhex(known)) !== head) this.#fault("receipt", seq);
      else if (this.canCheckSignatures && !this.proven.has(note)) await this.#checkSignature(note, seq);
    }
  }

  /** @param {string} note @param {number} seq */
  async #checkSignature(note, seq) {
    try {
      const signed = await signedByServer(note);
      if (signed) this.proven.add(note);
      else if (signed === false) this.#fault("unsigned", seq);
    } catch (error) {
      if (!(error instanceof NoEd25519)) throw error;
      this.canCheckSignatures = false;
      this.onfault({ kind: "no_ed25519", seq });
    }
  }

  /** Report if the log has another entropy value than this browser contributed. @param {Api["Event"]} event */
  checkEntropy(event) {
    if (event.type !== "entropy_revealed") return;
    const own = read(`${ENTROPY}${this.game}.${event.data.seat}`);
    if (own !== null && own !== event.data.value) this.#fault("entropy", event.seq);
  }

  /** @param {string} kind @param {number} seq */
  #fault(kind, seq) {
    if (!this.faulty) this.onfault({ kind, seq });
    this.faulty = true;
  }
}

/**
 * Send the entropy of this player's seat, or its commitment, if the set-up waits for it.
 *
 * The value is drawn and stored before its commitment is sent, so that it can be revealed after the
 * page was closed. It is revealed only after every seat has committed, so that no seat can choose its
 * value depending on those of the others.
 *
 * @param {Api["GameView"]} view of the caller's seat, during the set-up
 * @returns {Promise<Api["Moved"] | null>} the answer of the server, null if nothing was sent
 */
export async function contribute(view) {
  const seat = view.as;
  const own = view.setup?.find((one) => one.seat === seat);
  if (!own || own.entropy === "none" || typeof seat !== "number") return null;
  const key = `${ENTROPY}${view.id}.${seat}`;
  const path = /** @type {const} */ (`/v1/games/${view.id}/entropy`);
  const committed = view.setup?.every((one) => one.entropy !== "commit" || one.state !== "waiting");
  if (own.state === "waiting" && !read(key)) write(key, randomHex(32));
  const value = read(key);
  if (value === null) return null; // another browser of the same player has it
  if (own.entropy === "value" && own.state === "waiting") return post(path, { value });
  if (own.state === "waiting") {
    const commit = await taggedHash("shx/1/client-seed", uuidBytes(view.id), uint(seat, 1), unhex(value));
    return post(path, { commit: hex(commit) });
  }
  if (own.state === "committed" && committed) return post(path, { value });
  return null;
}
