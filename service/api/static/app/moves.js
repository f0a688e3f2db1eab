/**
 * Turns the cards that the player chose into a move to post.
 *
 * The server lists the legal moves; this module knows no rules. Any other choice can be posted too:
 * the server refuses it and names the rule.
 */

import { rankOf } from "./cards.js";

const STRIP = 24; // pixels of a card that stay visible under the next one
const NARROW = 15; // the same in a very large hand: the rank
const MANY = 24; // cards from which a hand is very large

/** @param {string[]} one @param {string[]} other */
const same = (one, other) => one.length === other.length && one.every((card) => other.includes(card));
const ranksOf = (/** @type {string[]} */ cards) => cards.map(rankOf).sort().join("");

/** @param {Api["GameView"]} view @returns {string[][]} the cards of each play that the server lists */
const plays = (view) => listedMoves(view, "play").map((move) => move.cards);

/** @param {Api["GameView"]} view @returns {Api["SeatView"] | null} the seat of the viewer, null for a spectator */
export const ownSeat = (view) => (typeof view.as === "number" ? view.seats[view.as] : null);

/**
 * Return the listed moves of one type.
 *
 * @template {Api["Move"]["type"]} Type
 * @param {Api["GameView"]} view
 * @param {Type} type
 * @returns {Extract<Api["Move"], {type: Type}>[]}
 */
export const listedMoves = (view, type) => /** @type {any[]} */ (view.moves.filter((move) => move.type === type));

/**
 * Return the cards of the listed plays that contain all chosen cards; if there are none, of those that
 * contain cards of the same ranks.
 *
 * Of more than six cards of a rank the server lists one set of each size; any others of the rank
 * can replace them (api.md, section 4).
 *
 * @param {Api["GameView"]} view
 * @param {string[]} chosen
 * @returns {Set<string>}
 */
export function playable(view, chosen) {
  const fitting = plays(view).filter((cards) => chosen.every((card) => cards.includes(card)));
  const listed = fitting.length || !chosen.length ? fitting : plays(view).filter((c) => ranksOf(c).includes(ranksOf(chosen)));
  return withMany(view, new Set(listed.flat()));
}

/**
 * Return the cards with which a listed play begins, without those that only accompany them, such as
 * the companion of a five. The server lists the main card of a play first.
 *
 * @param {Api["GameView"]} view
 * @returns {Set<string>}
 */
export const leading = (view) =>
  withMany(view, new Set(plays(view).flatMap((cards) => cards.filter((card) => rankOf(card) === rankOf(cards[0])))));

/**
 * Return the ranks that lead a listed play only together with another rank, as a five does.
 *
 * @param {Api["GameView"]} view
 */
export function dependent(view) {
  const leads = new Map();
  for (const cards of plays(view)) {
    const isAlone = cards.every((card) => rankOf(card) === rankOf(cards[0]));
    leads.set(rankOf(cards[0]), isAlone || leads.get(rankOf(cards[0])) || false);
  }
  return [...leads.keys()].filter((rank) => !leads.get(rank));
}

/**
 * Return the cards that can be played only together with another rank: those of dependent ranks.
 *
 * @param {Api["GameView"]} view
 * @returns {Set<string>}
 */
export function needing(view) {
  const ranks = dependent(view);
  return new Set(plays(view).flatMap((cards) => cards.filter((card) => ranks.includes(rankOf(card)))));
}

/** Add all cards of each rank of which the server lists only one set of each size. @param {Api["GameView"]} view @param {Set<string>} found */
function withMany(view, found) {
  const ranks = new Set([...found].map(rankOf));
  const own = ownSeat(view);
  const held = [...(own?.hand.cards ?? []), ...(own?.up.flat() ?? [])];
  for (const rank of ranks) {
    const many = held.filter((card) => rankOf(card) === rank);
    if (many.length > 6) for (const card of many) found.add(card);
  }
  return found;
}

/**
 * Return the choice after a press on a card or a stack.
 *
 * Cards that share a listed play or a rank are added; others begin a new choice. A press on chosen
 * cards removes them.
 *
 * @param {Api["GameView"]} view
 * @param {string[]} chosen
 * @param {string[]} pressed
 */
export function chosenAfter(view, chosen, pressed) {
  if (pressed.every((card) => chosen.includes(card))) {
    return chosen.filter((card) => !pressed.includes(card));
  }
  const both = [...new Set([...chosen, ...pressed])];
  const together =
    plays(view).some((cards) => both.every((card) => cards.includes(card))) ||
    plays(view).some((cards) => both.every((card) => cards.some((one) => rankOf(one) === rankOf(card))) && ranksOf(cards).includes(ranksOf(both))) ||
    new Set(both.map(rankOf)).size === 1;
  return together ? both : [...pressed];
}

/**
 * Return the play of the chosen cards, in the order in which the server lists such a play.
 *
 * @param {Api["GameView"]} view
 * @param {string[]} chosen
 * @returns {{type: "play", cards: string[]}}
 */
export function playOf(view, chosen) {
  const exact = plays(view).find((cards) => same(cards, chosen));
  if (exact) return { type: "play", cards: exact };
  const alike = plays(view).find((cards) => ranksOf(cards) === ranksOf(chosen));
  if (!alike) return { type: "play", cards: chosen };
  const unused = [...chosen];
  const cards = alike.map((card) => unused.splice(unused.findIndex((one) => rankOf(one) === rankOf(card)), 1)[0]);
  return { type: "play", cards };
}

/** @param {Api["GameView"]} view @param {string[]} chosen @returns {boolean} whether the server lists this play */
export const isListed = (view, chosen) =>
  plays(view).some((cards) => same(cards, chosen)) ||
  (chosen.length > 0 &&
    plays(view).some((cards) => ranksOf(cards) === ranksOf(chosen)) &&
    chosen.every((card) => playable(view, []).has(card)));

/** @param {Api["GameView"]} view @param {string[]} chosen @returns {boolean} whether the cards are part of a play that the server lists */
export const isPart = (view, chosen) => plays(view).some((cards) => chosen.every((card) => cards.includes(card)));

/**
 * Return the face-down card that the viewer turned and took between two views, null if there is none.
 *
 * @param {Api["GameView"]} before @param {Api["GameView"]} after
 * @returns {string | null}
 */
export function turnedCard(before, after) {
  const [was, is] = [ownSeat(before), ownSeat(after)];
  const lying = (/** @type {Api["SeatView"]} */ seat) => seat.down.filter(Boolean).length;
  if (!was || !is || lying(is) >= lying(was)) return null;
  const known = new Set([...(was.hand.cards ?? []), ...was.up.flat(), ...before.pile]);
  return is.hand.cards?.find((card) => !known.has(card)) ?? null;
}

/**
 * Return the layout of a hand: as few rows as possible, of about equal length.
 *
 * @param {number} count of cards
 * @param {number} width of the area, in pixels
 * @param {number} card width of a card, in pixels
 * @returns {{step: number, row: number}} distance of neighbouring cards, and length of the longest row
 */
export function rowsOf(count, width, card) {
  const room = Math.max(1, Math.floor((width - card) / (count > MANY ? NARROW : STRIP)) + 1);
  const each = Math.ceil(count / Math.ceil(count / room));
  const step = each > 1 ? Math.min(card + 6, (width - card) / (each - 1)) : card;
  return { step, row: card + (each - 1) * step };
}

/**
 * Return the slots after a card was put on one, or removed if it was staged already and `slot` is
 * null. A layout is complete once each slot has a card.
 *
 * @param {string[][]} staged cards chosen for each slot so far
 * @param {string} card
 * @param {number | null} slot null: the next free slot; without one, a stack of the card's rank
 * @param {string[][]} up the cards that lie in the slots already
 */
export function stagedAfter(staged, card, slot, up) {
  const without = staged.map((cards) => cards.filter((one) => one !== card));
  if (slot === null && staged.flat().includes(card)) return without;
  const free = without.findIndex((cards, at) => !cards.length && !(up[at] ?? []).length);
  const alike = without.findIndex((cards, at) => [...(up[at] ?? []), ...cards].some((one) => rankOf(one) === rankOf(card)));
  const at = slot ?? (free >= 0 ? free : alike >= 0 ? alike : 0);
  return without.map((cards, index) => (index === at ? [...cards, card] : cards));
}
