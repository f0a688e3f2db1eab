/**
 * Receipts and keys of the server that this browser stored.
 *
 * Receipts are stored as JSON under `shithead.receipts.<game>`: a list of signed notes, the oldest
 * first. The newest answer of `/v1/keys` is stored under `shithead.server-keys`.
 */

import { read, readJson, remove, write } from "./storage.js";

const RECEIPTS = "shithead.receipts.";
const KEYS = "shithead.server-keys";
const NOTES = 12; // receipts stored for one game
const GAMES = 60; // games with stored receipts

/** @param {string} game @returns {string[]} the stored receipts of a game */
export const receiptsOf = (game) => readJson(RECEIPTS + game) ?? [];

/** Store a receipt; if there are too many, the first one and the newest ones remain. @param {string} game @param {string} note */
export function storeReceipt(game, note) {
  const notes = receiptsOf(game).filter((one) => one !== note);
  notes.push(note);
  if (notes.length > NOTES) notes.splice(1, notes.length - NOTES);
  write(RECEIPTS + game, JSON.stringify(notes));
  /** @type {string[]} */
  const stored = readJson(`${RECEIPTS}games`) ?? [];
  const games = stored.filter((one) => one !== game);
  games.push(game);
  for (const old of games.splice(0, games.length - GAMES)) remove(RECEIPTS + old);
  write(`${RECEIPTS}games`, JSON.stringify(games));
}

/** @returns {string} the newest answer of /v1/keys to this browser, "" before the first */
export const storedKeys = () => read(KEYS) ?? "";

/** @param {string} answer of /v1/keys */
export const storeKeys = (answer) => write(KEYS, answer);
