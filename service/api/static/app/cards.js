/**
 * Cards: faces and backs as SVG drawn by code, their names in words, and sorting.
 *
 * A card is its code: `Th` is the ten of hearts, `X1` a joker, `7c/2` of the second deck.
 */

import { h, svg } from "./dom.js";
import { t } from "./i18n.js";

/** @type {Record<string, string>} */
const SUITS = {
  h: "M16 29C5 20 1 15 1 9.500 1 5 4.500 2 8.500 2c3 0 6 2 7.500 5 1.500-3 4.500-5 7.500-5C27.500 2 31 5 31 9.500 31 15 27 20 16 29z",
  d: "M16 1 28 16 16 31 4 16z",
  c: "M16 1.500a6.500 6.500 0 0 1 5.600 9.900A6.600 6.600 0 1 1 17.700 21.300c.4 3.200 1.600 6.200 4.300 9.200H10c2.700-3 3.900-6 4.300-9.200a6.600 6.600 0 1 1-3.900-9.900A6.500 6.500 0 0 1 16 1.500z",
  s: "M16 1C14 6 3 12 3 20c0 4 3 6.500 6.500 6.500 2 0 3.800-.8 5-2.300-.3 2.300-1.500 4.300-3.500 6.300h10c-2-2-3.200-4-3.500-6.300 1.200 1.500 3 2.300 5 2.300C26 26.500 29 24 29 20 29 12 18 6 16 1z",
};
const STAR = "M16 1l4.300 9.800 10.700 1-8 7.100 2.300 10.500L16 24l-9.300 5.400L9 18.900 1 11.800l10.700-1z";
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

/** Cached drawings by code; pictures on the page are copies. @type {Map<string, SVGElement>} */
const drawn = new Map();

/** @param {string} code of a card, "" for a back */
function drawing(code) {
  const found = drawn.get(code) ?? (code === "" ? back() : face(code));
  drawn.set(code, found);
  return found.cloneNode(true);
}

/** @param {string} path @param {number} x @param {number} y @param {number} size */
const suitAt = (path, x, y, size) =>
  svg("path", { d: path, transform: `translate(${x} ${y}) scale(${size / 32})` });

/** @param {string} card */
function face(card) {
  const rank = rankOf(card);
  const suit = suitOf(card);
  const path = SUITS[suit] ?? STAR;
  const colour = rank === "X" ? "joker" : "dh".includes(suit) ? "red" : "black";
  const deck = card.split("/")[1];
  const text = printed(rank);
  const wide = text.length > 1;
  return svg("svg", { viewBox: "0 0 100 140", class: `drawing ${colour}`, "aria-hidden": "true" }, [
    svg("rect", { class: "paper", x: 1.5, y: 1.5, width: 97, height: 137, rx: 10 }),
    rank === "X"
      ? suitAt(STAR, 8, 8, 34)
      : svg("text", { x: wide ? 4 : 9, y: 40, class: wide ? "wide" : "" }, [text]),
    suitAt(path, 11, 49, 25),
    suitAt(path, 38, rank === "X" ? 62 : 72, rank === "X" ? 52 : 54),
    deck ? svg("text", { x: 86, y: 26, class: "deck" }, [deck]) : null,
  ]);
}

function back() {
  let lattice = "";
  for (let step = -104; step <= 70; step += 17.4) {
    const from = Math.max(0, step);
    const to = Math.min(76, step + 116);
    lattice += `M${12 + from} ${12 + from - step}L${12 + to} ${12 + to - step}`;
    lattice += `M${88 - from} ${12 + from - step}L${88 - to} ${12 + to - step}`;
  }
  return svg("svg", { viewBox: "0 0 100 140", class: "drawing back", "aria-hidden": "true" }, [
    svg("rect", { class: "paper", x: 1.5, y: 1.5, width: 97, height: 137, rx: 10 }),
    svg("rect", { class: "inner", x: 9, y: 9, width: 82, height: 122, rx: 6 }),
    svg("path", { class: "lattice", d: lattice }),
  ]);
}

/**
 * Return a picture of a card with its name for screen readers.
 *
 * @param {string | null} card null: face down
 * @param {{label?: string, class?: string}} [more] a label "" hides the picture from screen readers
 */
export function picture(card, more = {}) {
  const label = more.label ?? (card ? spelled(card) : t("card.down"));
  const named = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return h("span", { class: `card ${more.class ?? ""}`, translate: "no", ...named, "data-card": card ?? "" }, [
    drawing(card ?? ""),
  ]);
}

/**
 * Return a card that can be pressed.
 *
 * @param {string | null} card null: face down
 * @param {{label?: string, class?: string, pressed?: boolean, key: string,
 *   onclick?: (event: Event) => void, disabled?: boolean}} more
 */
export function button(card, more) {
  return h(
    "button",
    {
      class: `card ${more.class ?? ""}`,
      translate: "no",
      "aria-label": more.label ?? (card ? spelled(card) : t("card.down")),
      "aria-pressed": more.pressed === undefined ? null : String(more.pressed),
      "data-card": card ?? "",
      "data-key": more.key,
      disabled: more.disabled ? "" : null,
      onclick: more.onclick,
    },
    [drawing(card ?? "")],
  );
}
