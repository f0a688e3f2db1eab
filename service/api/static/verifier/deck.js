/** The checks `commitments` and `shuffle`: was the deck fixed before play? */

import { hex, sha256, unhex } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";
import { deckCodes, seatCommitment, serverCommitment, shuffled } from "./cards.js";
import { Failure, Unanswered } from "./log.js";

/** @typedef {import("./log.js").Log} Log */

/** @param {Log} log @returns {import("./log.js").Event} the event that created the game; throws Failure without one */
function createdEvent(log) {
  if (!log.created) throw new Unanswered("missing", "not_created"); // `order` fails
  return log.created;
}

/** @param {Log} log */
export async function checkCommitments(log) {
  const { data, game } = createdEvent(log);
  if (hex(await sha256(canonicalBytes(data.ruleset))) !== data.ruleset_hash) throw new Failure(0, "commitments.ruleset");
  const commitments = new Map();
  for (const [seq, event] of log.events.entries()) {
    if (event.type === "entropy_committed") commitments.set(event.data.seat, event.data.commit);
    if (event.type !== "entropy_revealed" || !commitments.has(event.data.seat)) continue;
    const commitment = hex(await seatCommitment(game, event.data.seat, unhex(event.data.value)));
    if (commitment !== commitments.get(event.data.seat)) throw new Failure(seq, "commitments.seat", { seat: event.data.seat });
  }
  if (!log.seal) throw new Unanswered("missing", "unsealed");
  if (hex(await serverCommitment(game, unhex(log.seal.data.seed))) !== data.commit) {
    throw new Failure(log.seal.seq, "commitments.server");
  }
}

/** @type {WeakMap<Log, Promise<import("./cards.js").Shuffle | null>>} */
const derived = new WeakMap();

/**
 * Return the shuffle that follows from the published seed and the seats' revealed entropy.
 *
 * All other checks use this deck; the deck in the seal is compared with it.
 *
 * @param {Log} log
 * @returns {Promise<import("./cards.js").Shuffle | null>} null before the seal
 */
export function trueShuffle(log) {
  const shuffle = derived.get(log) ?? derive(log);
  derived.set(log, shuffle);
  return shuffle;
}

/** @param {Log} log */
async function derive(log) {
  if (!log.created || !log.seal) return null;
  const { data, game } = log.created;
  const entropy = log.revealed().map((value) => unhex(value ?? ""));
  const seed = unhex(log.seal.data.seed);
  return shuffled({ game, seed, firstLine: log.lines[0], codes: deckCodes(data.deck), entropy });
}

/** @param {Log} log */
export async function checkShuffle(log) {
  const { data } = createdEvent(log);
  const codes = deckCodes(data.deck);
  const committed = log.first("deck_committed");
  if (committed && committed.data.cards.length !== codes.length) {
    throw new Failure(committed.seq, "shuffle.size", { found: committed.data.cards.length, expected: codes.length });
  }
  const shuffle = await trueShuffle(log);
  if (shuffle && committed) {
    for (const [p, commitment] of committed.data.cards.entries()) {
      if (hex(await shuffle.commitment(p)) !== commitment) throw new Failure(committed.seq, "shuffle.commitment", { p });
    }
  }
  const dealt = log.first("cards_dealt");
  const dealer = data.dealer ?? (await shuffle?.dealer(data.seats.length));
  if (dealt && dealer !== undefined && dealt.data.dealer !== dealer) {
    throw new Failure(dealt.seq, "shuffle.dealer", { dealer: dealt.data.dealer, seat: dealer });
  }
  if (!shuffle || !log.seal) throw new Unanswered("missing", "unsealed");
  if (!committed && log.seal.data.deck) throw new Failure(log.seal.seq, "shuffle.no_deck");
  if (!committed) throw new Unanswered("n/a", "no_deck");
  if (log.seal.data.deck?.join() !== shuffle.deck.join()) throw new Failure(log.seal.seq, "shuffle.deck");
}
