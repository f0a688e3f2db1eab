/**
 * The table of a view: seats, stock, pile with its demand, and face-up cards.
 *
 * All parts show one view, so the replay can show any version.
 */

import { avatar } from "./avatars.js";
import { brief, printed, sorted, spelled } from "./cards.js";
import { demandText, seatName } from "./captions.js";
import { find, h, replace, svg } from "./dom.js";
import { listed, t } from "./i18n.js";
import { mark, picture } from "./pictures.js";

/** Maximum number of top cards of the pile that are pictured; the count and the list on request are of all cards. */
const SHOWN = 5;

/**
 * @typedef {Object} Scene
 * @property {Api["GameView"]} view
 * @property {(seat: number) => string[]} [did] the recent actions of a seat, each in few words
 * @property {number | null} [bag] the seat that wears the paper bag
 * @property {(string | null)[]} [players] the id of each seat's player
 * @property {string[]} [order] ranks, low to high
 * @property {boolean} [open] whether the known cards of hands are shown
 * @property {any[]} [line] what happened last, in words
 */

/**
 * Return the other seats by the side of the table, clockwise from the viewer's left; for a
 * spectator all seats.
 *
 * @param {Api["GameView"]} view
 * @param {boolean} round whether there is room at the sides
 * @returns {Record<"left" | "top" | "right", Api["SeatView"][]>}
 */
export function sides(view, round) {
  const count = view.seats.length;
  const me = typeof view.as === "number" ? view.as : null;
  const first = me === null ? 0 : me + 1;
  const others = Array.from({ length: count - (me === null ? 0 : 1) }, (_, n) => view.seats[(first + n) % count]);
  const each = !round || others.length < 3 ? 0 : Math.min(4, Math.max(1, Math.round(others.length / 4)));
  return {
    left: others.slice(0, each),
    top: others.slice(each, others.length - each),
    right: others.slice(others.length - each),
  };
}

/** @param {number} others @returns {string} the class that chooses the size of the seats */
export const sizeClass = (others) =>
  others <= 3 ? "few" : others <= 5 ? "some" : others <= 11 ? "many" : "crowd";

/**
 * One slot in front of a seat: a face-down card and the face-up cards on it.
 *
 * @param {Api["SeatView"]} seat @param {number} at @param {boolean} small
 */
function slot(seat, at, small) {
  const stack = seat.up[at] ?? [];
  const down = seat.down[at];
  if (small) return stack.map(chip);
  return h("span", { class: `slot ${stack.length ? "open" : ""}`, "data-place": at }, [
    down ? picture(null, { label: "" }) : null,
    ...stack.map((card) => picture(card, { label: "" })),
  ]);
}

/** @param {string} card @returns {HTMLElement} the card as a short text */
export const chip = (card) =>
  h("span", { class: `chip ${"dh".includes(card[1]) && card[0] !== "X" ? "red" : ""}`, translate: "no", "data-card": card }, [brief(card)]);

/** @param {Api["SeatView"]} seat @param {Scene} scene @returns {string} a seat in words, for screen readers */
export function seatInWords(seat, scene) {
  const { view } = scene;
  const up = seat.up.flat();
  const down = seat.down.filter(Boolean).length;
  return [
    `${seatName(seat)}${seat.bot ? ` (${seat.bot})` : ""}${view.turn === seat.seat ? `, ${t("seat.turn")}` : ""}`,
    seat.out ? t("seat.out", { n: seat.out }) : t("seat.hand", { n: seat.hand.count }),
    seat.hand.cards && scene.open
      ? t("seat.cards", { cards: listed(sorted(seat.hand.cards, scene.order).map(spelled)) })
      : seat.hand.known.length ? t("seat.known", { cards: listed(seat.hand.known.map(spelled)) }) : "",
    up.length ? t("seat.up", { cards: listed(up.map(spelled)) }) : "",
    down ? t("seat.down", { n: down }) : "",
    view.status === "swapping" ? t(seat.ready ? "seat.ready" : "seat.unready") : "",
    seat.agrees_end ? t("seat.agrees") : "",
  ]
    .filter(Boolean)
    .join(". ");
}

/** @param {Api["SeatView"]} seat @param {Scene} scene @param {boolean} small without a picture of the player */
function badges(seat, scene, small) {
  const found = [];
  if (scene.view.dealer === seat.seat) found.push(["D", t("seat.dealer")]);
  if (seat.kind === "bot" && small) found.push(["⚙", seat.bot ?? t("seat.bot"), "bot"]);
  if (seat.stand_in) found.push(["⚙!", t("seat.stand_in")]);
  if (seat.agrees_end) found.push(["⚑", t("seat.agrees")]);
  if (seat.key) found.push(["✎", t("seat.key")]);
  const signs = found.map(([sign, name, more = ""]) => h("abbr", { class: `badge ${more}`, title: name }, [sign]));
  return scene.bag === seat.seat ? [h("abbr", { class: "bag", title: t("seat.bag") }, [mark()]), ...signs] : signs;
}

/**
 * Return a seat with its player, its cards and its recent actions.
 *
 * @param {Api["SeatView"]} seat
 * @param {Scene} scene
 * @param {boolean} small cards as text
 */
export function plaque(seat, scene, small) {
  const { view } = scene;
  const turn = view.turn === seat.seat;
  const down = seat.down.filter(Boolean).length;
  const did = scene.did?.(seat.seat) ?? [];
  const mark = view.status === "swapping" && seat.ready ? "✓" : "";
  return h(
    "li",
    { class: `seat${small ? " small" : ""}${turn ? " turn" : ""}${seat.out ? " gone" : ""}`, "data-seat": seat.seat },
    [
      h("span", { class: "unseen" }, [seatInWords(seat, scene)]),
      h("span", { class: "who", "aria-hidden": "true" }, [
        small ? null : avatar(seat, scene.players?.[seat.seat]),
        h("span", { class: "name", translate: "no", title: seat.bot ? `${seatName(seat)} (${seat.bot})` : seatName(seat) }, [seatName(seat)]),
        seat.bot && !small ? h("span", { class: "kind", translate: "no" }, [seat.bot]) : null,
        ...badges(seat, scene, small),
        mark ? h("span", { class: "badge" }, [mark]) : null,
        turn ? h("span", { class: "clock", "data-clock": "" }) : null,
      ]),
      h("span", { class: "lying", "aria-hidden": "true" }, seat.out ? [h("b", { class: "placed" }, [t("seat.place", { n: seat.out })])] : [
        h("span", { class: "inhand" }, [
          small ? null : seat.hand.count ? picture(null, { label: "" }) : h("span", { class: "slot" }),
          small || seat.hand.count ? h("b", null, [seat.hand.count]) : null,
        ]),
        ...seat.down.map((_, at) => slot(seat, at, small)),
        small && down ? h("span", { class: "chip back" }, [down]) : null,
      ]),
      scene.open ? openHand(seat, scene, small) : null,
      h("span", { class: "did" }, did.map((one) => h("span", null, [one]))),
    ],
  );
}

/** Show the seats at the sides. A row that is wider than the page scrolls to the seat on turn. @param {HTMLElement} left @param {HTMLElement} top @param {HTMLElement} right */
export function showSeats(left, top, right) {
  const before = document.querySelector(".side.top")?.scrollLeft ?? 0;
  replace(find("#others"), left, top, right);
  if (top.scrollWidth <= top.clientWidth) return;
  top.tabIndex = 0; // the keys scroll it
  top.scrollLeft = before;
  const seat = top.querySelector(".turn");
  if (seat instanceof HTMLElement) top.scrollLeft = seat.offsetLeft - (top.clientWidth - seat.offsetWidth) / 2;
}

/** The cards of a hand that the view names. @param {Api["SeatView"]} seat @param {Scene} scene @param {boolean} small */
function openHand(seat, scene, small) {
  const cards = sorted(seat.hand.cards ?? seat.hand.known, scene.order);
  const tight = small || cards.length > 12;
  return h("span", { class: `shown${tight ? " tight" : ""}`, "aria-hidden": "true", "--n": Math.max(2, cards.length) }, cards.map((card) => (tight ? chip(card) : picture(card, { label: "" }))));
}

/**
 * Return how a hand ended, for the middle of the table.
 *
 * @param {Api["GameView"]} view
 * @param {string} heading
 * @param {Object} [more]
 * @param {(seat: number) => any[]} [more.detail] what a seat did, beside and below its name
 * @param {(string | null)[]} [more.players] the id of each seat's player
 * @param {string} [more.why] a sentence below the heading
 * @param {string} [more.below] a sentence below the places
 */
export const outcome = ({ result, seats }, heading, { detail, players, why, below } = {}) =>
  h("div", { class: "result" }, [
    result && result.shithead !== null
      ? h("p", { class: "person bagged", "aria-hidden": "true" }, [avatar(seats[result.shithead], players?.[result.shithead]), mark()])
      : null,
    h("h2", null, [heading]),
    why ? h("p", null, [why]) : null,
    result
      ? h("ol", { class: "places" }, (result.places.length || result.shithead === null ? result.places : [result.shithead]).map((seat, at) =>
          h("li", { class: `${seat === result.shithead ? "last" : ""}${result.places.length ? "" : " alone"}`, "--at": at }, [
            h("span", { class: "person", translate: "no" }, [
              avatar(seats[seat], players?.[seat]), seat === result.shithead ? mark() : null, seatName(seats[seat]),
            ]),
            ...(detail?.(seat) ?? []),
          ]),
        ))
      : h("p", null, [t("result.none")]),
    below ? h("p", { class: "evening" }, [below]) : null,
  ]);

/**
 * Return stock, pile, demand, direction and number of burned cards.
 *
 * @param {Api["GameView"]} view @param {Partial<Scene>} [scene] @returns {HTMLElement}
 */
export function middle(view, { line } = {}) {
  const pile = view.pile;
  const shown = pile.slice(-SHOWN);
  const top = shown.at(-1);
  const words = [
    pile.length ? t("pile.words", { n: pile.length, card: top ? spelled(top) : "" }) : t("pile.empty.words"),
    view.status === "playing" ? t("pile.asks", { demand: demandText(view.demand, { aloud: true }) }) : "",
    t("stock.words", { n: view.stock }),
    t(view.direction === 1 ? "direction.1" : "direction.2"),
  ].join(" ");
  return h("div", { class: "middle" }, [
    h("p", { class: "unseen" }, [words]),
    h("div", { class: "stacks", "aria-hidden": "true" }, [
      h("div", { class: `stock ${view.stock > 12 ? "deep" : view.stock > 1 ? "low" : ""}`, "data-stock": "", title: t("stock.words", { n: view.stock }) }, [
        view.stock ? picture(null, { label: "" }) : h("span", { class: "hole" }),
        h("b", { class: view.stock ? "" : "none" }, [view.stock]),
      ]),
      h("div", { class: "pile", "data-pile": "", "--n": Math.max(1, shown.length) }, [
        ...(shown.length
          ? shown.map((card, at) => h("span", { class: "laid", "--at": at, "--turn": `${turnOf(card)}deg` }, [picture(card, { label: "" })]))
          : [h("span", { class: "hole" })]),
        h("b", { class: pile.length ? "" : "none" }, [pile.length]),
      ]),
      h("div", { class: "facts" }, [turning(view.direction), burned(view.burned.length)]),
    ]),
    view.status === "playing" ? demand(view.demand) : null,
    line ? h("p", { class: "line", "aria-hidden": "true" }, line) : null,
  ]);
}

/** How far a card of the pile is turned, always the same, in degrees. @param {string} card */
const turnOf = (card) => ((card.charCodeAt(0) * 7 + card.charCodeAt(1) * 3) % 9) - 4;

const burned = (/** @type {number} */ count) => h("span", { class: `burned${count ? "" : " none"}`, "data-burned": "" }, [t("burned", { n: count })]);

/** @param {Api["Demand"]} asked */
const demand = (asked) =>
  h("p", { class: "demand", "aria-hidden": "true" }, [
    h("strong", null, [demandText(asked)]),
    asked.kind === "anything" ? null : h("span", { class: "ranks", translate: "no" }, [asked.ranks.map(printed).join(" ")]),
  ]);

/** @param {Api["GameView"]["direction"]} direction */
function turning(direction) {
  const name = t(direction === 1 ? "direction.1" : "direction.2");
  return h("span", { class: "turning", title: name }, [
    svg("svg", { viewBox: "0 0 32 32", "aria-hidden": "true", class: direction === 1 ? "" : "flip" }, [
      svg("path", { d: "M27 16a11 11 0 1 1-3.600-8.100", fill: "none", stroke: "currentColor", "stroke-width": 3 }),
      svg("path", { d: "M25 1v9h-9z", fill: "currentColor" }),
    ]),
  ]);
}

/**
 * Return the whole pile or the burned cards as a list, in the order given.
 *
 * @param {string[]} cards
 */
export const spread = (cards) =>
  h("ul", { class: "spread" }, cards.map((card) => h("li", null, [picture(card)])));
