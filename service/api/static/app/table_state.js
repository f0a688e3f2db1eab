/** The state of the page of a table, the questions that several of its parts ask about it, and who draws it. */

import { identity } from "./api.js";
import { caption, seatName } from "./captions.js";
import { find, replace } from "./dom.js";
import { t } from "./i18n.js";
import { ownSeat } from "./moves.js";
import { noChoice } from "./own.js";
import { problemState } from "./states.js";
import { viewModel } from "./viewmodel.js";

/** @typedef {import("./api.js").Problem} Problem */

export const root = find("#table");

export const game = {
  /** The newest one; null before the first hand. @type {Api["GameView"]} */ view: /** @type {any} */ (null),
  /** The view that is pictured: the newest, or an earlier one. @type {Api["GameView"]} */ shown: /** @type {any} */ (null),
  /** @type {Api["Table"]} */ table: /** @type {any} */ (null),
  /** @type {Api["Ruleset"]} */ ruleset: /** @type {any} */ (null),
  /** By seq; those that have not arrived are holes. @type {Api["Event"][]} */ events: [],
  choice: noChoice(),
  busy: false,
  /** Whether a move has had no answer for a while. */ waiting: false,
  dragging: false,
  connected: true,
  /** How many hands the page has opened. */ opened: 0,
  /** The version at which the reader last moved: events from this seq on are shown as new. */
  lastMove: 0,
  /** The one at which the reader moved before that. */
  earlierMove: 0,
  /** The face-down cards that the reader turned, each with the versions between which that was. @type {{card: string, seat: number, from: number, to: number}[]} */ turned: [],
  /** Events before this seq have been animated and announced. */
  announced: 0,
  /** @type {Problem | null} */ refusal: null,
  /** The last move, while it is not known whether the server played it. @type {{id: string, version: number, move: Api["Move"], view: Api["GameView"]} | null} */ unsure: null,
  /** Who was away when the page last asked, at which state and time. @type {{state: string, at: number, found: Api["Absences"]["absent"]}} */ away: { state: "", at: 0, found: [] },
  /** The problem of the last call that no action of the reader caused; a later answer removes it. */ trouble: "",
  /** @type {string[]} */ warnings: [],
  /** The ratings of the hand's people before it, and after it once it is counted. @type {{before: import("./ending.js").Ratings | null, after: import("./ending.js").Ratings | null}} */
  ratings: { before: null, after: null },
  /** A restore that can have lost a part of this hand. @type {import("../verifier/notes.js").Restore | null} */ restored: null,
  /** The notice of a check that this browser cannot make. */ unchecked: "",
  /** Checks the log of the hand that is open. @type {import("./record.js").Chain} */ chain: /** @type {any} */ (null),
  /** Aborted when the page leaves the hand that is open. */ left: new AbortController(),
};
/** @typedef {typeof game} Game */

/** @type {() => void} */
let draw = () => {};

/** @param {() => void} drawing */
export const drawWith = (drawing) => (draw = drawing);

export const changed = () => draw();

/** The state of the page with the moment that is drawn. */
export const pictured = () => {
  const moment = viewModel(game.view, game.shown);
  return { ...game, ...moment, choice: moment.isBehind ? noChoice() : game.choice };
};

/** The state in which the reader acts, as a text: a turn is its version; before the first, what the reader did last. */
export function stateShown() {
  const { view, shown, opened, lastMove } = game;
  const state = shown !== view ? "behind" : view?.status === "playing" ? view.version : `${view?.status} ${lastMove}`;
  return `${opened} ${state}`;
}

export const isOver = (/** @type {Api["GameView"]} */ view) => ["ended", "aborted"].includes(view.status);
export const over = () => isOver(game.shown);

export const players = () => game.table?.seats.map((seat) => seat.player ?? null) ?? [];

const isBy = (/** @type {number} */ seq, /** @type {number} */ seat) =>
  game.events.some((event) => event.seq === seq && "seat" in event.data && event.data.seat === seat);

export const voice = (aloud = false) => ({
  aloud,
  turned: (/** @type {number} */ seq) => game.turned.find(({ from, to, seat }) => from <= seq && seq < to && isBy(seq, seat))?.card ?? null,
  who: (/** @type {number} */ seat) => (seat === game.view.as ? t("you") : seatName(game.view.seats[seat])),
});

/** Show a problem that no action of the reader caused. @param {any} problem */
export function report(problem) {
  if (game.left.signal.aborted || problem?.name === "AbortError") return;
  if (problem?.status === 401 && identity()) return location.reload();
  if (document.getElementById("notices")) {
    game.trouble = problem.message;
    changed();
  } else replace(root, problemState(problem, root.dataset.game ? "hand" : "table"));
}
