/**
 * The moment that the page of a table shows: line, buttons, cards and seats are drawn from this alone.
 *
 * The page may show an earlier view than the newest, because events are shown one by one. What the
 * newest view says of the reader's turn is then still to come, so nothing of it is drawn.
 */

import { ownSeat } from "./moves.js";

/** @param {Api["GameView"]} view @returns {string[]} the open cards of the reader */
export const heldIn = (view) => [...(ownSeat(view)?.hand.cards ?? []), ...(ownSeat(view)?.up.flat() ?? [])];

/**
 * @typedef {Object} Moment
 * @property {Api["GameView"]} view the view that is drawn; without moves if it is not the newest
 * @property {boolean} isBehind whether later events are still to be shown
 * @property {boolean} isMine whether the reader is on turn, and may act now
 * @property {Set<string>} leaving cards of the reader whose play is still to be shown
 * @property {boolean} isAwaited whether the newest view waits for the reader, who may skip to it
 */

/**
 * Return what the page shows of its newest view and the one that is pictured.
 *
 * @param {Api["GameView"]} newest
 * @param {Api["GameView"]} shown the newest view itself, or one before it
 * @returns {Moment}
 */
export function viewModel(newest, shown) {
  const isBehind = shown !== newest;
  const isTurn = Boolean(ownSeat(newest)) && newest.status === "playing" && newest.turn === newest.as;
  const kept = new Set(heldIn(newest));
  return {
    leaving: new Set(isBehind ? heldIn(shown).filter((card) => !kept.has(card)) : []),
    view: isBehind ? { ...shown, moves: [] } : newest,
    isBehind,
    isMine: isTurn && !isBehind,
    isAwaited: isTurn && isBehind,
  };
}
