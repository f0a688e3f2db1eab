/**
 * Plot of a game's pile, hands, burns, pick-ups, waiting times and one card's path.
 *
 * The horizontal axis is the number of the event. All figures are counted from the frames of a
 * replay; a table beside the plot has the same numbers.
 */

import { seatName } from "./captions.js";
import { h, svg } from "./dom.js";
import { language, t } from "./i18n.js";

export const WIDTH = 1000; // units of a lane, stretched to the available width
export const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

/** Types of the events that add the pile to a hand. */
const PICKED = new Set(["pile_picked_up", "blind_failed", "stock_failed"]);

/** @param {number} milliseconds @returns {string} the time in words: "3.2 seconds" */
export const secondsText = (milliseconds) =>
  new Intl.NumberFormat(language, { style: "unit", unit: "second", unitDisplay: "long", maximumFractionDigits: 1 }).format(milliseconds / 1000);

/**
 * @typedef {Object} Figures the numbers in a plot, counted from frames
 * @property {number[]} pile by frame
 * @property {number[][]} hands by seat, then by frame
 * @property {{at: number, count: number, seat: number}[]} burns at: index of the frame
 * @property {{at: number, count: number, seat: number}[]} picks
 * @property {{at: number, ms: number, seat: number}[]} waits milliseconds before each event of a seat
 */

/** @param {Api["Frame"][]} frames @returns {Figures} */
export function figuresOf(frames) {
  const seats = frames[0].view.seats;
  /** @type {Figures} */
  const found = { pile: frames.map(({ view }) => view.pile.length), hands: seats.map((_, n) => frames.map(({ view }) => view.seats[n].hand.count)), burns: [], picks: [], waits: [] };
  frames.forEach(({ event, at }, index) => {
    const { type } = event;
    const data = /** @type {{seat?: number, taker?: number, count?: number}} */ (event.data);
    const mark = { at: index, count: data.count ?? 0, seat: data.taker ?? data.seat ?? 0 };
    if (type === "pile_burned") found.burns.push(mark);
    if (PICKED.has(type) && data.count) found.picks.push(mark);
    // The events of a move have one time. An event without a seat, such as the deal, is no move.
    const before = frames[index - 1]?.at ?? at;
    if (at !== before && typeof data.seat === "number") found.waits.push({ at: index, ms: Date.parse(at) - Date.parse(before), seat: data.seat });
  });
  return found;
}

/** @typedef {(value: number) => number} Scale */

/** A step line: horizontal up to each change of the value. @param {number[]} values @param {Scale} x @param {Scale} y */
const steps = (values, x, y) =>
  values.reduce((path, value, at) => (value === values[at - 1] ? path : `${path}H${x(at)}V${y(value)}`), `M0 ${y(values[0])}`) + `H${WIDTH}`;

/** @param {string} name @param {number} height @param {string} label @param {any[]} children @param {string} [note] @returns {HTMLElement} one plot of the hand with its label; `name` is its class */
export function lane(name, height, label, children, note = "") {
  return h("div", { class: `lane ${name}` }, [
    svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, children),
    h("span", { class: "label" }, [label]),
    note ? h("span", { class: "most" }, [note]) : null,
  ]);
}

/**
 * Return the lanes of the plot, one above the other.
 *
 * @param {Figures} figures
 * @param {Api["Stretch"][] | null} path of a card
 */
export function lanes(figures, path) {
  const last = Math.max(1, figures.pile.length - 1);
  const x = (/** @type {number} */ at) => Math.round((Math.min(at, last) / last) * WIDTH * 10) / 10;
  const most = Math.max(1, ...figures.pile, ...figures.hands.flat());
  const y = (/** @type {number} */ value) => 100 - (value / most) * 96;
  const mostCards = Math.max(1, ...[...figures.burns, ...figures.picks].map((one) => one.count));
  const longest = Math.max(1000, ...figures.waits.map((one) => one.ms));
  // Bots answer within a second, people within minutes: a linear scale would show only the longest time.
  const height = (/** @type {number} */ ms) => 100 * (Math.log1p(ms / 250) / Math.log1p(longest / 250));
  /** @template {{at: number}} One @param {One[]} some @param {number} from @param {(one: One) => number} length */
  const bars = (some, from, length) => some.map((one) => `M${x(one.at)} ${from}V${from + length(one)}`).join("");
  return [
    lane("sizes", 100, t("replay.sizes"), [
      svg("path", { class: "pile-area", d: `${steps(figures.pile, x, y)}V100H0z` }),
      ...figures.hands.map((values, seat) =>
        svg("path", { class: "hand-line", "--seat": seat, "stroke-dasharray": DASHES[seat % 4], d: steps(values, x, y) }),
      ),
    ], t("replay.most", { n: most })),
    lane("marks", 100, t("replay.marks"), [
      svg("path", { class: "burns", d: bars(figures.burns, 50, (one) => -14 - (36 * one.count) / mostCards) }),
      svg("path", { class: "picks", d: bars(figures.picks, 50, (one) => 14 + (36 * one.count) / mostCards) }),
    ]),
    lane("waits", 100, t("replay.waits"), [
      svg("path", { class: "wait", d: bars(figures.waits, 100, (one) => -height(one.ms)) }),
    ], t("replay.longest", { time: secondsText(longest) })),
    path
      ? lane("way", 10, t("replay.way"), path.map((one) =>
          svg("rect", { class: `zone-${one.zone}`, x: x(one.from_seq), y: 0, width: Math.max(3, x(one.to_seq + 1) - x(one.from_seq)), height: 10 }),
        ))
      : null,
  ];
}

/** @param {Api["GameView"]} view with names @returns {HTMLElement} the meaning of the lines, with the numbers of this view */
export const legend = (view) =>
  h("ul", { class: "legend" }, [
    h("li", null, [h("span", { class: "swatch pile-area" }), `${t("replay.pile")} `, h("b", null, [view.pile.length])]),
    ...view.seats.map((seat) =>
      h("li", null, [
        svg("svg", { class: "swatch", viewBox: "0 0 24 8", "aria-hidden": "true" }, [
          svg("path", { class: "hand-line", "--seat": seat.seat, "stroke-dasharray": DASHES[seat.seat % 4], d: "M0 4H24" }),
        ]),
        h("span", { class: "name", translate: "no" }, [seatName(seat)]), " ",
        h("b", null, [seat.hand.count]),
      ]),
    ),
  ]);

const sum = (/** @type {{count: number}[]} */ some) => some.reduce((total, one) => total + one.count, 0);
/** @param {Figures["waits"]} some */
const longestOf = (some) => some.reduce((best, one) => (best && best.ms >= one.ms ? best : one), some.at(0));

/**
 * Return the plot as a table, for readers who cannot see it.
 *
 * @param {Figures} figures
 * @param {Api["SeatView"][]} seats with names
 */
export function plotTable(figures, seats) {
  const pile = Math.max(...figures.pile);
  const cell = (/** @type {string} */ text) => h("td", null, [text]);
  const row = (/** @type {Api["SeatView"]} */ seat) => {
    /** @template {{seat: number}} One @param {One[]} some */
    const own = (some) => some.filter((one) => one.seat === seat.seat);
    const most = Math.max(...figures.hands[seat.seat]);
    const wait = longestOf(own(figures.waits));
    return h("tr", null, [
      h("th", { scope: "row", translate: "no" }, [seatName(seat)]),
      cell(t("replay.at", { count: most, n: figures.hands[seat.seat].indexOf(most) })),
      ...[figures.burns, figures.picks].map((some) => cell(t("replay.times", { n: own(some).length, count: sum(own(some)) }))),
      cell(wait ? t("replay.at", { count: secondsText(wait.ms), n: wait.at }) : "–"),
    ]);
  };
  return [
    h("p", null, [t("replay.pile.most", { count: pile, n: figures.pile.indexOf(pile) })]),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": t("replay.words") }, [
      h("table", null, [
        h("thead", null, [h("tr", null, ["seat", "hand", "burned", "picked", "waited"].map((key) => h("th", { scope: "col" }, [t(`replay.col.${key}`)])))]),
        h("tbody", null, seats.map(row)),
      ]),
    ]),
  ];
}
