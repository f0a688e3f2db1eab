/** Cards, the deck before the shuffle, and the shuffle itself (SHX/1, sections 1 and 3). */

import { headOf, taggedHash, taggedMac, uint, uuidBytes } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";

export const RANKS = "23456789TJQKA";
const SUITS = "cdhs";

/** A card's code: rank and suit, or a joker; cards of further decks have the number of the deck. */
export const CARD = /^(?:[2-9TJQKA][cdhs](?:\/(?:[2-9]|[1-9][0-9]{1,3}))?|X[1-9][0-9]{0,4})$/;

/**
 * Return the codes of a deck in the order before the shuffle.
 *
 * A partial deck has the next number after the whole decks; the jokers come last.
 *
 * @param {{decks: number, jokers: number, partial: string[]}} deck
 * @returns {string[]}
 */
export function deckCodes({ decks, jokers, partial }) {
  /** @param {number} number @param {string} ranks */
  const deckOf = (number, ranks) =>
    [...SUITS].flatMap((suit) => [...ranks].map((rank) => rank + suit + (number > 1 ? `/${number}` : "")));
  const codes = Array.from({ length: decks }, (_, i) => deckOf(i + 1, RANKS)).flat();
  if (partial.length) codes.push(...deckOf(decks + 1, [...RANKS].filter((rank) => partial.includes(rank)).join("")));
  for (let i = 1; i <= jokers; i++) codes.push(`X${i}`);
  return codes;
}

/**
 * Return a function that returns uniform numbers below n, drawn from 32-bit words.
 *
 * @param {() => Promise<number>} nextWord
 * @returns {(n: number) => Promise<number>}
 */
export function uniform(nextWord) {
  return async (n) => {
    const limit = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const word = await nextWord();
      if (word < limit) return word % n;
    }
  };
}

/** @param {Uint8Array} key @returns {Promise<() => Promise<number>>} the words of stream(key), one by one */
export async function words(key) {
  const mac = await taggedMac(key);
  /** @type {DataView} */
  let block = new DataView(new ArrayBuffer(0));
  let at = 0, count = 0;
  return async () => {
    if (at === block.byteLength) {
      block = new DataView((await mac("shx/1/stream", uint(count++, 8))).buffer);
      at = 0;
    }
    at += 4;
    return block.getUint32(at - 4);
  };
}

/** @param {string} game @param {Uint8Array} seed @returns {Promise<Uint8Array>} C_S */
export const serverCommitment = (game, seed) => taggedHash("shx/1/server-seed", uuidBytes(game), seed);

/** @param {string} game @param {number} seat @param {Uint8Array} value @returns {Promise<Uint8Array>} C_i */
export const seatCommitment = (game, seat, value) =>
  taggedHash("shx/1/client-seed", uuidBytes(game), uint(seat, 1), value);

/** @param {string} game @param {number} p @param {string} code @param {Uint8Array} salt @returns {Promise<Uint8Array>} c_p */
export const cardCommitment = (game, p, code, salt) =>
  taggedHash("shx/1/card", uuidBytes(game), uint(p, 2), code, salt);

/** @param {string} game @returns {Promise<Uint8Array>} the `prev` of the first event */
export const genesis = (game) => taggedHash("shx/1/genesis", uuidBytes(game));

/**
 * The result of a shuffle.
 *
 * @typedef {object} Shuffle
 * @property {string[]} deck codes, the top card first
 * @property {(p: number) => Promise<Uint8Array>} commitment c_p
 * @property {(p: number) => Promise<Uint8Array>} salt
 * @property {(seats: number) => Promise<number>} dealer the dealer that is drawn
 * @property {Record<"T" | "deck" | "salt" | "deal", Uint8Array>} keys
 */

/**
 * Return the shuffle that follows from the seed and the seats' entropy.
 *
 * @param {object} from
 * @param {string} from.game
 * @param {Uint8Array} from.seed
 * @param {Uint8Array} from.firstLine the bytes of `game_created`
 * @param {string[]} from.codes
 * @param {Uint8Array[]} from.entropy E_i, empty for a seat that contributes nothing
 * @returns {Promise<Shuffle>}
 */
export async function shuffled({ game, seed, firstLine, codes, entropy }) {
  const T = await taggedHash(
    "shx/1/transcript", uuidBytes(game), await headOf(firstLine), canonicalBytes(codes), ...entropy,
  );
  const mac = await taggedMac(seed);
  const [deckKey, saltKey, dealKey] = await Promise.all(
    ["shx/1/deck", "shx/1/salt", "shx/1/dealer"].map((tag) => mac(tag, T)),
  );
  const pick = uniform(await words(deckKey));
  const deck = [...codes];
  for (let i = deck.length - 1; i > 0; i--) {
    const j = await pick(i + 1);
    [deck[i], deck[j]] = [deck[j], deck[i]];
  }
  const salts = await taggedMac(saltKey);
  /** @param {number} p */
  const salt = (p) => salts("shx/1/card-salt", uint(p, 2));
  return {
    deck,
    salt,
    commitment: async (p) => cardCommitment(game, p, deck[p], await salt(p)),
    dealer: async (seats) => uniform(await words(dealKey))(seats),
    keys: { T, deck: deckKey, salt: saltKey, deal: dealKey },
  };
}
