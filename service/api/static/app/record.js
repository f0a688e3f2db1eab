/**
 * What this browser holds against the server: the chain of the log, receipts, its own entropy.
 *
 * Receipts are stored as JSON under `shithead.receipts.<game>`: a list of signed notes, the oldest
 * first. Random numbers for the shuffle are stored under `shithead.entropy.<game>.<seat>`.
 */

import { get, post, randomHex } from "./api.js";

const RECEIPTS = "shithead.receipts.";
const ENTROPY = "shithead.entropy.";
const NOTES = 12; // a game
const GAMES = 60;

/** Hashes need a secure context: https, or this machine. */
export const canHash = () => Boolean(globalThis.crypto?.subtle);

/** The mode of entropy that this browser can take part with. */
export const entropyMode = () => (canHash() ? "commit" : "value");

const text = new TextEncoder();
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hexOf = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
const base64Of = (bytes) => btoa(String.fromCharCode(...bytes));

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** TH of the protocol (section 1): SHA-256 over the parts, each after its length. */
function tagged(tag, ...parts) {
  const lengths = [text.encode(tag), ...parts].flatMap((part) => {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, part.length);
    return [length, part];
  });
  return sha256(joined(...lengths));
}

const gameBytes = (game) => bytesOf(game.replaceAll("-", ""));

/** @returns {string[]} the receipts of a game that this browser holds */
export function receiptsOf(game) {
  try {
    return JSON.parse(localStorage.getItem(RECEIPTS + game) ?? "[]");
  } catch {
    return [];
  }
}

/** Store a receipt; of a game the first and the newest ones are retained. */
export function keepReceipt(game, note) {
  const notes = receiptsOf(game).filter((one) => one !== note);
  notes.push(note);
  if (notes.length > NOTES) notes.splice(1, notes.length - NOTES);
  try {
    localStorage.setItem(RECEIPTS + game, JSON.stringify(notes));
    const games = JSON.parse(localStorage.getItem(`${RECEIPTS}games`) ?? "[]").filter((one) => one !== game);
    games.push(game);
    for (const old of games.splice(0, games.length - GAMES)) localStorage.removeItem(RECEIPTS + old);
    localStorage.setItem(`${RECEIPTS}games`, JSON.stringify(games));
  } catch {
    // The storage is full: the newest receipt is worth less than the game that goes on.
  }
}

/** Fetch and store the receipt of the present head. */
export async function fetchReceipt(game) {
  keepReceipt(game, await get(`/v1/games/${game}/receipt`, { as: "text" }));
}

/** The log of one game as it arrives, compared with itself and with the receipts. */
export class Chain {
  /** @param {string} game @param {(fault: {kind: string, seq: number}) => void} onfault */
  constructor(game, onfault) {
    this.game = game;
    this.onfault = onfault;
    /** Heads in hex by seq. @type {string[]} */
    this.heads = [];
    this.work = Promise.resolve();
    this.faulty = false;
  }

  /** Take the exact text of the next event. @param {string} line */
  add(line) {
    if (canHash()) this.work = this.work.then(() => this.#link(line));
  }

  async #link(line) {
    const { seq, prev } = JSON.parse(line);
    const before = seq ? this.heads[seq - 1] : hexOf(await tagged("shx/1/genesis", gameBytes(this.game)));
    if (seq !== this.heads.length || prev !== before) this.#fault("chain", seq);
    this.heads[seq] = hexOf(await sha256(joined(new Uint8Array([0]), text.encode(line))));
  }

  /** Compare the log so far with all receipts held, and report the first that differs. */
  async compare() {
    await this.work;
    if (!canHash()) return;
    for (const note of receiptsOf(this.game)) {
      const [name, version, head] = note.split("\n");
      const seq = Number(version) - 1;
      const known = this.heads[seq];
      if (!name.endsWith(`/g/${this.game}`) || known === undefined) continue;
      if (base64Of(bytesOf(known)) !== head) this.#fault("receipt", seq);
    }
  }

  /** Report if the log names another number than the one this browser contributed. */
  contributed(event) {
    if (event.type !== "entropy_revealed") return;
    const own = localStorage.getItem(`${ENTROPY}${this.game}.${event.data.seat}`);
    if (own !== null && own !== event.data.value) this.#fault("entropy", event.seq);
  }

  #fault(kind, seq) {
    if (!this.faulty) this.onfault({ kind, seq });
    this.faulty = true;
  }
}

/**
 * Do what the shuffle asks of this player's seat now; nothing if it asks nothing.
 *
 * The number is drawn and stored before its commitment is sent, so that it can be revealed after
 * the page was closed. It is revealed once every commitment is in: then nobody can steer the deck.
 *
 * @param {any} view of the caller's seat, during the set-up
 * @returns {Promise<any>} the answer of the server, null if there was nothing to do
 */
export async function contribute(view) {
  const seat = view.as;
  const own = view.setup?.find((one) => one.seat === seat);
  if (!own || own.entropy === "none") return null;
  const key = `${ENTROPY}${view.id}.${seat}`;
  const path = `/v1/games/${view.id}/entropy`;
  const committed = view.setup.every((one) => one.entropy !== "commit" || one.state !== "waiting");
  if (own.state === "waiting" && !localStorage.getItem(key)) localStorage.setItem(key, randomHex(32));
  const value = localStorage.getItem(key);
  if (value === null) return null; // another browser of the same player has it
  if (own.entropy === "value" && own.state === "waiting") return post(path, { value });
  if (own.state === "waiting") {
    const commit = await tagged("shx/1/client-seed", gameBytes(view.id), new Uint8Array([seat]), bytesOf(value));
    return post(path, { commit: hexOf(commit) });
  }
  if (own.state === "committed" && committed) return post(path, { value });
  return null;
}
