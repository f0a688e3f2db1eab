/** Pictures of cards: faces and backs as SVG, made from the drawings of the deck. */

import { rankOf, spelled, suitOf } from "./cards.js";
import { DECK } from "./deck.js";
import { h, svg } from "./dom.js";
import { t } from "./i18n.js";

/** Cached drawings by code; pictures on the page are copies. @type {Map<string, SVGElement>} */
const drawn = new Map();

/** @param {string} code of a card, "" for a back */
function drawing(code) {
  const found = drawn.get(code) ?? (code === "" ? back() : face(code));
  drawn.set(code, found);
  return found.cloneNode(true);
}

/** @typedef {keyof typeof DECK.faces} Rank */

/** @param {string} suit @param {number} x of its centre @param {number} y @param {number} size @param {string} [colour] */
const suitAt = (suit, x, y, size, colour) =>
  svg("path", { class: colour, d: DECK.suits[/** @type {keyof typeof DECK.suits} */ (suit)], transform: `translate(${x - size / 2} ${y - size / 2}) scale(${size / 32})` });

const PAPER = { class: "paper", x: 1.5, y: 1.5, width: 97, height: 137, rx: 10 };

/** @param {(string | number)[]} part @param {string} suit @param {boolean} isCourt */
const drawnPart = ([colour, ...shape], suit, isCourt) =>
  colour === "suit"
    ? suitAt(suit, Number(shape[0]), Number(shape[1]), Number(shape[2]), isCourt ? "emblem" : "")
    : svg("path", { class: String(colour), d: String(shape[0]) });

/**
 * Draw a card with its index, its pips or its court, and one large suit instead of these where the card is small.
 *
 * What a wide card has twice, its index and its court, is in `second` again, turned by half.
 *
 * @param {string} card
 */
function face(card) {
  const rank = rankOf(card);
  const suit = suitOf(card) || "x";
  const deck = card.split("/")[1];
  const isCourt = "JQKX".includes(rank);
  const line = rank === "X" ? null : DECK.ranks[/** @type {keyof typeof DECK.ranks} */ (rank)];
  const index = () => svg("g", { class: "index" }, [
    line ? svg("path", { class: "stroke", d: line, transform: `translate(7 9) scale(${rank === "T" ? 0.98 : 1.15} 1.15)` }) : suitAt("x", 21, 24, 32),
    line ? suitAt(suit, 21, 65, 24) : null,
  ]);
  const parts = () => svg("g", { class: "parts" }, DECK.faces[/** @type {Rank} */ (rank)].map((part) => drawnPart(part, suit, isCourt && rank !== "X")));
  // The inner picture cuts its figure at the waist, which is the middle of the card.
  const bust = () => svg("svg", { class: "bust", width: 100, height: 70 }, [parts()]);
  return svg("svg", { viewBox: "0 0 100 140", class: `drawing ${suit === "x" ? "joker" : "dh".includes(suit) ? "red" : "black"}`, "aria-hidden": "true" }, [
    svg("rect", PAPER),
    index(),
    isCourt ? bust() : parts(),
    svg("g", { class: "second", transform: "rotate(180 50 70)" }, [index(), isCourt ? bust() : null]),
    svg("g", { class: "large" }, [suitAt(suit, 62, 98, 58)]),
    deck ? svg("text", { x: 21, y: 130, class: "deck" }, [deck]) : null,
  ]);
}

/** The mark of the game: the paper bag. @param {Record<string, string>} [more] attributes */
export const mark = (more = {}) =>
  svg("svg", { viewBox: "0 0 32 32", class: "mark", "aria-hidden": "true", ...more }, Object.entries(DECK.mark).map(([colour, d]) => svg("path", { class: `bag-${colour}`, d })));

function back() {
  return svg("svg", { viewBox: "0 0 100 140", class: "drawing back", "aria-hidden": "true" }, [
    svg("rect", PAPER),
    svg("rect", { class: "inner", x: 8, y: 8, width: 84, height: 124, rx: 6 }),
    svg("path", { class: "lattice", d: DECK.lattice }),
    svg("circle", { class: "inner rim", cx: 50, cy: 70, r: 29 }),
    svg("g", { transform: "translate(28 48) scale(1.375)" }, Object.entries(DECK.mark).map(([colour, d]) => svg("path", { class: `bag-${colour}`, d }))),
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
 *   onclick?: (event: Event) => void, disabled?: boolean, tag?: string}} more tag: a word on the card
 */
export function button(card, more) {
  return h(
    "button",
    {
      class: `card ${more.class ?? ""}`,
      translate: "no",
      "aria-label": [more.label ?? (card ? spelled(card) : t("card.down")), more.tag].filter(Boolean).join(", "),
      "aria-pressed": more.pressed === undefined ? null : String(more.pressed),
      "data-card": card ?? "",
      "data-key": more.key,
      disabled: more.disabled ? "" : null,
      onclick: more.onclick,
    },
    [drawing(card ?? ""), more.tag ? h("span", { class: "tag" }, [more.tag]) : null],
  );
}
