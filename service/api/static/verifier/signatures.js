/** The check `signatures`: does every move of a seat with a key have a valid signature? */

import { concat, isStrongKey, signedBy, unbase64, utf8 } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";
import { EXCHANGES, Failure, isForfeit, LEAVINGS, PLAYS, Unanswered } from "./log.js";

/** @typedef {import("./log.js").Log} Log @typedef {import("./log.js").Event} Event */

const PREFIX = utf8("shx/1/move\n");

/** @param {Event} event */
const isAction = (event) => EXCHANGES.has(event.type) || PLAYS.has(event.type);

/** @param {Log} log @param {import("./bundle.js").Bundle} _bundle @param {import("./outside.js").Outside} outside */
export async function checkSignatures(log, _bundle, { seatKeys = new Map(), keyChanges = [] }) {
  if (!log.created) throw new Unanswered("missing", "not_created"); // `order` fails
  /** @type {(string | null)[]} */
  const keys = log.created.data.seats.map((/** @type {{key: string | null}} */ seat) => seat.key);
  const weak = keys.findIndex((key) => key !== null && !isStrongKey(unbase64(key) ?? new Uint8Array()));
  if (weak >= 0) throw new Failure(0, "signatures.weak", { seat: weak });
  for (const [seat, key] of seatKeys) {
    const place = { table: log.created.data.table, seat };
    if (!keys[seat] || !(await keyFollows(key, keys[seat], keyChanges, place))) throw new Failure(0, "signatures.other_key", { seat });
  }
  const nonces = new Set();
  for (const [seq, event] of log.events.entries()) {
    const first = log.starts[seq] === seq;
    const forfeit = isForfeit(event);
    const seat = forfeit ? event.data.shithead : (first && isAction(event)) || LEAVINGS.has(event.type) ? event.data.seat : null;
    const key = seat === null ? null : keys[seat];
    if (!event.auth) {
      if (key) throw new Failure(seq, "signatures.unsigned", { seat });
      continue;
    }
    if (!key) throw new Failure(seq, "signatures.nobodys");
    const { intent, sig } = event.auth;
    if (intent.game !== event.game || intent.seat !== seat) throw new Failure(seq, "signatures.other", { seat });
    const [pinned, signature] = [key, sig].map((digits) => unbase64(digits) ?? new Uint8Array());
    if (!(await signedBy(pinned, signature, concat(PREFIX, canonicalBytes(intent))))) {
      throw new Failure(seq, "signatures.forged", { seat });
    }
    if (!matches(intent.move, event)) throw new Failure(seq, "signatures.move", { seat });
    checkSeen(log, seq, intent, forfeit);
    if (nonces.has(intent.nonce)) throw new Failure(seq, "signatures.nonce", { seat });
    nonces.add(intent.nonce);
  }
  if (!keys.some(Boolean)) throw new Unanswered("n/a", "no_keys");
}

/**
 * Check that the log has the event and head that the signature names, and no later action that makes
 * it stale.
 *
 * @param {Log} log @param {number} seq @param {any} intent @param {boolean} forfeit
 */
function checkSeen(log, seq, { seat, seen }, forfeit) {
  let at = seq - 1;
  while (at >= 0 && log.events[at].named !== seen.seq) at--;
  if (at < 0 || seen.head !== log.headHex(at)) throw new Failure(seq, "signatures.seen", { seat });
  if (forfeit) return;
  const { type } = log.events[seq];
  for (let between = 0; between < seq; between++) {
    const other = log.events[between];
    if (other.named <= seen.seq) continue;
    const own = other.data.seat === seat;
    const counts = EXCHANGES.has(type) ? own && EXCHANGES.has(other.type) : isAction(other) && (own || !LEAVINGS.has(type));
    if (counts) throw new Failure(seq, "signatures.stale", { seat, between });
  }
}

/** @param {string[]} one @param {string[]} other */
const sameSet = (one, other) => [...one].sort().join() === [...other].sort().join();

/** @param {any} move the signed move @param {Event} event the recorded event */
function matches(move, { type, data }) {
  switch (move.type) {
    case "play":
      return type === "cards_played" && ["hand", "up"].includes(data.zone) && sameSet(move.cards, data.cards);
    case "play_blind":
      return (type === "blind_failed" || (type === "cards_played" && data.zone === "down")) && move.slot === data.slot;
    case "pick_up":
      return type === "pile_picked_up" && sameSet(move.with, data.with);
    case "try_stock":
      return type === "stock_failed" || (type === "cards_played" && data.zone === "stock");
    case "pass":
      return type === "turn_passed";
    case "swap":
      return type === "cards_swapped" && move.up.join() === data.up.join() && move.hand.join() === data.hand.join();
    case "lay":
      return type === "table_laid" && JSON.stringify(move.stacks) === JSON.stringify(data.stacks);
    case "ready":
      return type === "seat_ready";
    case "agree_end":
      return type === "end_agreed";
    case "claim_absence":
      return type === "absence_claimed" && move.absent === data.absent && move.then === data.then;
    default:
      return move.type === "forfeit" && type === "game_ended";
  }
}

/**
 * Return whether signed changes lead from one key of a seat to another. A weak key leads nowhere, because anybody can sign with it.
 *
 * @param {string} old
 * @param {string} key
 * @param {import("./seat_keys.js").KeyChange[]} changes
 * @param {{table: string, seat: number}} place
 */
export async function keyFollows(old, key, changes, { table, seat }) {
  const reached = [old];
  for (const from of reached) {
    for (const { change, sig } of changes) {
      if (change.table !== table || change.seat !== seat || reached.includes(change.key)) continue;
      const [signer, next, signature] = [from, change.key, sig].map((digits) => unbase64(digits) ?? new Uint8Array());
      const message = concat(utf8("shx/1/key\n"), canonicalBytes({ v: 1, table, seat, key: change.key }));
      if (isStrongKey(next) && (await signedBy(signer, signature, message))) reached.push(change.key);
    }
  }
  return reached.includes(key);
}
