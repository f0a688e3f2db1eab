/** What may be laid on a pile: its demand, and the forms of a play (ops/spec/rules.md, section 4). */

import { DEFAULTS } from "./catalogue.js";

/** @typedef {import("./rulesets.js").Tree} Tree @typedef {import("./rulesets.js").RankRule} RankRule */
/** @typedef {"at_least" | "at_most" | "below" | "anything"} Kind */
/** @typedef {{by: string | null, rank: string, kind: Kind}} Demand `by`: the rank that makes it, `rank`: the one that is compared */

/** @type {Demand} */
const NO_DEMAND = { by: null, rank: "X", kind: "anything" };

export const rankOf = (/** @type {string} */ card) => card[0];
const suitOf = (/** @type {string} */ card) => card[1];

/** @param {string[]} pile @returns {number} how many cards of one rank lie directly on one another on top */
function topSet(pile) {
  let at = pile.length - 1;
  while (at >= 0 && rankOf(pile[at]) === rankOf(pile[pile.length - 1])) at -= 1;
  return pile.length - 1 - at;
}

/** The settings of a hand, as questions about cards. */
export class Rules {
  /** @param {Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.order = tree.order.low_to_high;
  }

  /** @param {string} rank @returns {RankRule} */
  of(rank) {
    return Object.hasOwn(this.tree.ranks, rank) ? this.tree.ranks[rank] : DEFAULTS.rank;
  }

  /** @param {string[]} pile @returns {Demand} */
  demand(pile) {
    let at = pile.length - 1;
    while (at >= 0 && this.of(rankOf(pile[at])).asks === "transparent") at -= 1;
    if (!pile.length) return NO_DEMAND;
    const by = rankOf(pile[Math.max(at, 0)]);
    const { asks, asks_as: as, alone } = this.of(by);
    const kind = /** @type {Kind} */ (at < 0 ? alone : asks);
    const rank = as ?? by;
    return { by, rank, kind: rank === "X" || !COMPARED.has(kind) ? "anything" : kind };
  }

  /** @param {string} rank @param {Demand} demand @returns {boolean} whether cards of a rank fit */
  fits(rank, demand) {
    const { plays, not_on: never } = this.of(rank);
    if (plays === "with_companion" || (demand.by !== null && never.includes(demand.by))) return false;
    if (plays === "anything" || demand.kind === "anything") return true;
    return (demand.by !== null && this.of(demand.by).besides.includes(rank)) || this.compares(rank, demand);
  }

  /** @param {string} rank @param {Demand} demand @returns {boolean} */
  compares(rank, demand) {
    const place = this.order.indexOf(rank);
    const other = this.order.indexOf(demand.rank);
    if (place < 0) return false;
    return demand.kind === "at_least" ? place >= other : demand.kind === "at_most" ? place <= other : place < other;
  }

  /** @param {string} rank @param {string[]} pile @param {boolean} cover whether it covers a play @returns {boolean} */
  fitsNow(rank, pile, cover) {
    return cover ? this.of(rank).plays !== "with_companion" : this.fits(rank, this.demand(pile));
  }

  /**
   * Return whether cards, laid in this order, are a play on a pile.
   *
   * @param {string[]} cards
   * @param {string[]} pile
   * @param {boolean} cover whether the play covers
   */
  isPlay(cards, pile, cover) {
    const ranks = [...new Set(cards.map(rankOf))];
    if (ranks.length === 1) return this.fitsNow(ranks[0], pile, cover);
    return this.isAccompanied(cards, ranks) || this.isRun(cards, pile, cover);
  }

  /** @param {string} rank @param {string} other @returns {boolean} whether the other one is a companion of a rank that needs one */
  isCompanion(rank, other) {
    const places = [rank, other].map((one) => this.order.indexOf(one));
    return this.of(rank).plays === "with_companion" && this.of(other).plays !== "with_companion" && places[0] >= 0 && places[1] > places[0];
  }

  /** @param {string[]} cards @param {string[]} ranks those of the cards @returns {boolean} */
  isAccompanied(cards, ranks) {
    const changes = cards.filter((card, i) => i > 0 && rankOf(card) !== rankOf(cards[i - 1])).length;
    return ranks.length === 2 && changes === 1 && this.isCompanion(ranks[0], ranks[1]);
  }

  /** @param {string[]} cards @param {string[]} pile @param {boolean} cover @returns {boolean} */
  isRun(cards, pile, cover) {
    if (!this.tree.turn.runs) return false;
    const first = this.order.indexOf(rankOf(cards[0]));
    const laid = [...pile];
    return cards.every((card, i) => {
      if (i > 0 && this.burns(laid)) return false;
      const isNext = this.order.indexOf(rankOf(card)) === first + i && first >= 0 && suitOf(card) === suitOf(cards[0]);
      const fits = isNext && this.fitsNow(rankOf(card), laid, cover && i === 0);
      laid.push(card);
      return fits;
    });
  }

  /** @param {string[]} pile @returns {"rank" | "set" | null} why it burns */
  burns(pile) {
    if (this.of(rankOf(pile[pile.length - 1])).burns) return "rank";
    const size = this.tree.burn.set_size;
    return size > 0 && topSet(pile) >= size ? "set" : null;
  }
}

const COMPARED = new Set(["at_least", "at_most", "below"]);
