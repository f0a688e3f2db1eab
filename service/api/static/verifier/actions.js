/** Which actions the rules allow a seat (ops/spec/rules.md, section 4). */

import { rankOf } from "./rules.js";

/** @typedef {import("./exchange.js").Fault} Fault @typedef {import("./opening.js").Opening} Opening @typedef {import("./position.js").Position} Position */
/** @typedef {{position: Position, opening: Opening | null, cover: boolean}} Moment what an action is judged by, beside its seat */

/** @param {Position} position @param {number} seat @param {boolean} cover @returns {boolean} whether a card that it sees can be played */
function isAble(position, seat, cover) {
  const ranks = [...new Set(position.choice(seat).map(rankOf))];
  const { rules, pile } = position;
  return ranks.some((rank) => rules.fitsNow(rank, pile, cover) || ranks.some((other) => rules.isCompanion(rank, other)));
}

/** @param {Position} position @param {number} seat @returns {boolean} whether it may try the top card of the stock, if it need not cover */
function mayTry(position, seat) {
  const when = position.tree.turn.try_stock;
  if (!position.stock.length || position.source(seat) === "down") return false;
  return when === "always" || (when === "when_unable" && !isAble(position, seat, false));
}

/** @param {Moment} moment @param {string} card @returns {boolean} whether a turned card can be played */
export const fitsAlone = ({ position, cover }, card) => position.rules.fitsNow(rankOf(card), position.pile, cover);

/** @param {Moment} moment @param {string} type @param {any} data @returns {Fault | null} why the rules do not allow an action of a seat on turn */
export function faultOf(moment, type, data) {
  if (type === "cards_played") return faultOfPlay(moment, data);
  if (type === "pile_picked_up") return faultOfPickUp(moment, data);
  if (type === "turn_passed") return faultOfPass(moment, data);
  return type === "stock_failed" ? faultOfTry(moment, data, true) : faultOfBlind(moment, data);
}

/** @param {Moment} moment @param {any} data @returns {Fault | null} */
function faultOfPlay(moment, data) {
  const { position, cover } = moment;
  const { seat, zone, cards } = data;
  if (zone === "stock") return faultOfTry(moment, data, false);
  if (zone !== position.source(seat)) return { code: "zone", values: { seat }, cite: "model.source_zone" };
  if (zone === "down") return fitsAlone(moment, cards[0]) ? null : unfit(moment, seat, cards[0]);
  if (zone === "up" && !position.areStacks(seat, cards)) return { code: "part_of_stack", values: { seat }, cite: "model.stacks" };
  if (zone === "hand" && !position.holds(seat, cards)) return { code: "zone", values: { seat }, cite: "model.source_zone" };
  if (!position.rules.isPlay(cards, position.pile, cover)) return misplayed(moment, seat, cards);
  return isOpening(moment, cards) ? null : { code: "opening", values: { seat }, cite: "opening.play" };
}

/** @param {Moment} moment @param {string[]} cards @returns {boolean} whether a play is one that may open */
function isOpening({ opening, position: { rules } }, cards) {
  if (!opening) return true;
  const { rank, card } = opening;
  if (card !== null) return cards.some((one) => one.startsWith(card));
  if (rank === null) return true;
  return rankOf(cards[0]) === rank && (new Set(cards.map(rankOf)).size === 1 || rules.of(rank).plays === "with_companion");
}

/** @param {Moment} moment @param {number} seat @param {string[]} cards @returns {Fault} why the cards are no play */
function misplayed(moment, seat, cards) {
  const ranks = new Set(cards.map(rankOf));
  if (ranks.size === 1) return unfit(moment, seat, cards[0]);
  return { code: "no_play", values: { seat }, cite: moment.position.tree.turn.runs ? "turn.runs" : "model.normal_play" };
}

/** @param {Moment} moment @param {number} seat @param {string} card @returns {Fault} */
function unfit({ position }, seat, card) {
  const { by } = position.rules.demand(position.pile);
  const rank = rankOf(card);
  const { not_on: never, plays } = position.rules.of(rank);
  const values = { seat, card, on: position.pile[position.pile.length - 1] ?? null };
  if (plays === "with_companion") return { code: "companion", values, cite: `ranks.${rank}.plays` };
  const cite = by === null ? "model.empty_pile" : never.includes(by) ? `ranks.${rank}.not_on` : `ranks.${by}.asks`;
  return { code: "card", values, cite };
}

/** @param {Moment} moment @param {any} data @param {boolean} failed @returns {Fault | null} */
function faultOfTry(moment, { seat, opening }, failed) {
  const { position, cover } = moment;
  const cite = "turn.try_stock";
  if (cover || !mayTry(position, seat)) return { code: "try", values: { seat }, cite };
  const { card } = opening;
  if (fitsAlone(moment, card) !== failed) return null;
  return failed ? { code: "playable", values: { seat, card }, cite } : unfit(moment, seat, card);
}

/** @param {Moment} moment @param {any} data @returns {Fault | null} */
function faultOfBlind(moment, { seat, opening }) {
  const { position } = moment;
  if (position.source(seat) !== "down") return { code: "zone", values: { seat }, cite: "model.source_zone" };
  if (position.tree.pick_up.show_blind !== (opening !== null)) return { code: "shown", values: { seat }, cite: "pick_up.show_blind" };
  if (!opening || !fitsAlone(moment, opening.card)) return null; // a card that stayed hidden is for the check `hidden`
  return { code: "playable", values: { seat, card: opening.card }, cite: "model.blind" };
}

/** @param {Moment} moment @param {any} data @returns {Fault | null} */
function faultOfPickUp({ position, cover }, { seat, with: along }) {
  const source = position.source(seat);
  if (source === "down") return { code: "pick_up_blind", values: { seat }, cite: "model.blind" };
  if (cover) return { code: "cover", values: { seat }, cite: "ranks.*.covers" };
  if (!position.pile.length) return { code: "pick_up_nothing", values: { seat }, cite: "model.empty_pile" };
  if (position.tree.turn.obligation === "must_play" && isAble(position, seat, false)) {
    return { code: "must_play", values: { seat }, cite: "turn.obligation" };
  }
  return goAlong(position, seat, along) ? null : { code: "along", values: { seat }, cite: "pick_up.along" };
}

/** @param {Position} position @param {number} seat @param {string[]} cards @returns {boolean} whether just these face-up cards may go along with the pile */
function goAlong(position, seat, cards) {
  const how = position.tree.pick_up.along;
  if (position.source(seat) === "hand" || how === "nothing") return !cards.length;
  const touched = position.up[seat].filter((stack) => stack.some((card) => cards.includes(card)));
  if (how === "one_slot") return touched.length === 1 && position.areStacks(seat, cards);
  const all = position.up[seat].flat();
  return cards.length > 0 && new Set(cards).size === cards.length && new Set(cards.map(rankOf)).size === 1 && cards.every((card) => all.includes(card));
}

/** @param {Moment} moment @param {any} data @returns {Fault | null} */
function faultOfPass({ position, cover }, { seat }) {
  if (cover) return { code: "cover", values: { seat }, cite: "ranks.*.covers" };
  const source = position.source(seat);
  if (position.pile.length || source === "down") return { code: "pass", values: { seat }, cite: "model.pass" };
  return isAble(position, seat, false) || mayTry(position, seat) ? { code: "pass", values: { seat }, cite: "model.pass" } : null;
}
