/** How play begins: thrown cards, the seat that opens, and its first play (ops/spec/rules.md, section 4). */

import { rankOf } from "./rules.js";

/** @typedef {import("./position.js").Position} Position */

/**
 * The first turn: the seat that has it, null at a first-come opening; the seats that may act; and
 * what a play must be.
 *
 * @typedef {object} Opening
 * @property {number | null} turn
 * @property {number[]} seats from the left of the dealer
 * @property {string | null} rank that a play must have
 * @property {string | null} card rank and suit of a card that a play must contain
 */

/** @param {Position} position right after the deal @returns {string | null} the rank that is thrown */
export const thrownRank = (position) =>
  position.tree.deal.throws.find((rank) => position.hands.flat().some((card) => rankOf(card) === rank)) ?? null;

/** @param {Position} position @param {string | null} rank @returns {{seat: number, cards: string[], count: number} | null} the next throw */
export function nextThrow(position, rank) {
  const held = (/** @type {number} */ seat) => position.hands[seat].filter((card) => rankOf(card) === rank);
  const seat = position.fromLeft(position.dealer).find((one) => held(one).length);
  if (rank === null || seat === undefined) return null;
  const cards = held(seat).sort();
  return { seat, cards, count: Math.min(cards.length, position.stock.length) };
}

/** @param {Position} position @param {number | null} thrower the last seat that threw @returns {Opening} */
export function openingOf(position, thrower) {
  const { opener, play } = position.tree.opening;
  const order = position.fromLeft(position.dealer);
  const qualified = firstCome(position, opener === "first_come_table");
  const worst = worstCard(position);
  const isFirstCome = opener.startsWith("first_come");
  const turn = { first_dealt: firstDealt(position), worst_card: worst?.seat ?? null, next_to_thrower: thrower === null ? null : position.fromLeft(thrower)[0] };
  const seat = turn[/** @type {keyof typeof turn} */ (opener)] ?? order[0];
  return {
    turn: isFirstCome ? null : seat,
    seats: isFirstCome ? qualified.seats : [seat],
    rank: play === "that_rank" ? qualified.rank : null,
    card: play === "that_card" ? (worst?.card.slice(0, 2) ?? null) : null,
  };
}

/** @param {Position} position @returns {number | null} the seat that was dealt the first card of the first rank, face-up before hand */
function firstDealt(position) {
  const order = position.fromLeft(position.dealer);
  const rounds = Math.max(...position.dealt.map((cards) => cards.length));
  for (const rank of position.tree.opening.ranks) {
    for (let round = 0; round < rounds; round++) {
      const seat = order.find((one) => position.dealt[one][round]?.[0] === rank);
      if (seat !== undefined) return seat;
    }
  }
  return null;
}

/** @param {Position} position @returns {{seat: number, card: string} | null} the worst card in the hands */
function worstCard(position) {
  const { ranks, suits } = position.tree.opening;
  const place = (/** @type {string | string[]} */ list, /** @type {string} */ one) => (list.indexOf(one) < 0 ? list.length : list.indexOf(one));
  const cards = position.fromLeft(position.dealer).flatMap((seat) => position.hands[seat].map((card) => ({ seat, card })));
  const weight = (/** @type {string} */ card) => place(ranks, card[0]) * (suits.length + 1) + place(suits, card[1]);
  return cards.reduce((/** @type {typeof cards[0] | null} */ worst, one) => (worst && weight(worst.card) <= weight(one.card) ? worst : one), null);
}

/** @param {Position} position @param {boolean} table whether face-up cards come first @returns {{seats: number[], rank: string | null}} */
function firstCome(position, table) {
  const order = position.fromLeft(position.dealer);
  const with_ = (/** @type {string[][]} */ zones, /** @type {string} */ rank) => order.filter((seat) => zones[seat].some((card) => rankOf(card) === rank));
  const open = position.up.map((slots) => slots.flat());
  for (const rank of position.tree.opening.ranks) {
    for (const zones of table ? [open, position.hands] : [position.hands]) {
      const seats = with_(zones, rank);
      if (seats.length) return { seats, rank };
    }
  }
  return { seats: order, rank: position.tree.opening.ranks[0] ?? null };
}
