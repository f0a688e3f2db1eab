/**
 * Cards: their names in words and in symbols, and sorting.
 *
 * A card is its code: `Th` is the ten of hearts, `X1` a joker, `7c/2` of the second deck.
 */

import { has, t } from "./i18n.js";

/** @type {Record<string, string>} */
const SIGNS = { c: "♣", d: "♦", h: "♥", s: "♠" };
/** The default order of ranks, for callers without a ruleset. */
const ORDER = "2 3 4 5 6 7 8 9 T J Q K A".split(" ");

/** @param {string} card @returns {string} the rank: `2` to `A`, or `X` for a joker */
export const rankOf = (card) => card[0];

/** @param {string} card @returns {string} the suit, c, d, h or s; empty for a joker */
export const suitOf = (card) => (card[0] === "X" ? "" : card[1]);

/** @param {string} rank @returns {string} the rank as printed on a card: `10`, `K`, `★` */
export const printed = (rank) => (rank === "T" ? "10" : rank === "X" ? "★" : rank);

/** @param {string} rank @param {string} [name] in words, or as printed @returns {string} with its article, if the language has any: "an ace" */
export const ranked = (rank, name = t(`rank.${rank}`)) => t(has(`ask.rank.${rank}`) ? `ask.rank.${rank}` : "ask.rank", { rank: name });

/** @param {string} card @returns {string} the card in symbols: `10♥`, `★` */
export const brief = (card) => printed(rankOf(card)) + (SIGNS[suitOf(card)] ?? "");

/** @param {string} card @returns {string} the card in words: "ten of hearts, deck 2" */
export function spelled(card) {
  const [code, deck] = card.split("/");
  const name =
    code[0] === "X"
      ? t("card.joker")
      : t("card.of", { rank: t(`rank.${code[0]}`), suit: t(`suit.${code[1]}`) });
  return deck ? t("card.deck", { card: name, deck }) : name;
}

/**
 * Return cards sorted by a ruleset's order of ranks, jokers last.
 *
 * @param {string[]} cards
 * @param {string[]} [order] low to high, from the settings of the ruleset
 */
export function sorted(cards, order = ORDER) {
  const place = (/** @type {string} */ card) => {
    const at = order.indexOf(rankOf(card));
    return at < 0 ? order.length : at;
  };
  const suits = "cdsh";
  return [...cards].sort(
    (a, b) =>
      place(a) - place(b) ||
      suits.indexOf(suitOf(a)) - suits.indexOf(suitOf(b)) ||
      (a < b ? -1 : 1),
  );
}
