/**
 * A hand by its turns: which events belong to one, and the log of the table with a row for each.
 *
 * A row is short for the eye, "6♥ 6♠, drew 2", and has whole sentences for screen readers.
 */

import { avatar } from "./avatars.js";
import { caption, deed, marked, seatName } from "./captions.js";
import { brief } from "./cards.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";

const MOST = 40; // turns in the log of the table, which is made anew for each event; the replay has all
const SHUFFLING = new Set(["entropy_committed", "entropy_revealed", "deck_committed"]); // the replay shows these, the log does not
const FOLLOWS = new Set(["cards_drawn", "pile_burned", "seat_out"]); // what a move brings about
const BRIEF = new Set(["pile_burned", "cards_played", "pile_picked_up", "blind_failed", "turn_passed"]); // what few words are enough for
const PLAYED = /** @type {Record<string, string>} */ ({ up: "log.up", down: "log.down", stock: "log.stock" });
const TONES = /** @type {Record<string, string>} */ ({ pile_burned: "burned", pile_picked_up: "took", blind_failed: "took", stock_failed: "took" });

/** @param {Api["Event"]} event @returns {string} the class of an event that changes the pile: "burned", "took" or "" */
export const toneOf = (event) => TONES[event.type] ?? "";

/** @param {Api["Event"]} event @returns {number | null} the seat that the event is about */
export const seatOf = ({ data }) => ("seat" in data ? data.seat : null);

/** @param {Api["Event"]} event @param {Api["Event"] | undefined} before the event before it @returns {boolean} whether it belongs to the same turn */
export function goesOn(event, before) {
  if (!before || seatOf(event) === null || seatOf(event) !== seatOf(before)) return false;
  return FOLLOWS.has(event.type) || before.type === "turn_timed_out";
}

/** @param {Api["Event"][]} events @returns {number} the number of events before the first turn, that with which the play begins included */
export const setUpOf = (events) => events.findIndex((event) => event?.type === "play_started") + 1;

/**
 * Return the newest turns of a hand, and what was before the first, the newest first.
 *
 * @param {Api["Event"][]} events of a hand in their order
 * @param {number} [most] turns; without the set-up if there are more
 * @returns {{turns: Api["Event"][][], setUp: Api["Event"][][]}}
 */
export function turnsOf(events, most = MOST) {
  /** @type {Api["Event"][][]} */
  const turns = [];
  /** @type {Api["Event"][]} */
  let turn = [];
  for (let at = events.length - 1; at >= 0 && turns.length < most; at -= 1) {
    const event = events[at];
    if (event.type === "play_started") return { turns, setUp: turnsOf(events.slice(0, at)).turns };
    if (SHUFFLING.has(event.type)) continue;
    turn = [event, ...turn];
    if (goesOn(event, events[at - 1])) continue;
    turns.push(turn);
    turn = [];
  }
  return { turns, setUp: [] };
}

/**
 * @typedef {Object} Scene whose log it is
 * @property {Api["GameView"]} view
 * @property {(string | null)[]} players the id of each seat's player
 * @property {number} fresh the seq from which events are new to the reader
 * @property {(aloud?: boolean) => import("./captions.js").Voice} voice
 */

/**
 * Return the rows of the log: the newest turns, and those of the set-up.
 *
 * @param {Api["Event"][]} events until the moment that is shown
 * @param {Scene} scene
 */
export function logRows(events, scene) {
  const { turns, setUp } = turnsOf(events);
  return [turns, setUp].map((some) => some.map((turn) => rowOf(turn, scene)));
}

/**
 * Return what a seat did in an event in few words, without its name: "6♥ 6♠", "drew 2", "turned 8♣, took 4".
 *
 * It is empty for an event that needs a sentence: one without a seat, or with a second one.
 *
 * @param {Api["Event"]} event
 * @param {import("./captions.js").Voice} voice
 */
function deedText(event, voice) {
  const { type, data, seq } = event;
  const other = "taker" in data ? data.taker : "cleared_by" in data ? data.cleared_by : null;
  if (!("seat" in data) || (other !== null && other !== data.seat)) return "";
  const named = (/** @type {string} */ key, /** @type {string[]} */ cards, n = 0) => t(key, { cards: cards.map(brief).join(" "), n });
  if (type === "cards_drawn") return t("log.drew", { n: data.count });
  if (type === "turn_timed_out") return t("log.late");
  if (type === "seat_out") return t("log.out", { n: data.place });
  if (type === "cards_played" && data.zone in PLAYED) return named(PLAYED[data.zone], data.cards);
  if (type === "pile_picked_up" && data.with.length) return named("log.with", data.with, data.count);
  if (type === "stock_failed") return named("log.tried", [data.opening.card], 1 + data.count);
  const turned = type === "blind_failed" ? (data.opening?.card ?? voice.turned?.(seq)) : null;
  if (turned && "count" in data) return named("log.turned", [turned], 1 + data.count);
  return BRIEF.has(type) ? deed(event, data.seat ?? -1) : "";
}

/** @param {Api["Event"][]} turn @param {Scene} scene */
function rowOf(turn, { view, players, fresh, voice }) {
  const { seq } = turn[turn.length - 1];
  const names = view.seats.map(seatName);
  const seat = seatOf(turn[0]);
  const deeds = turn.map((event) => deedText(event, voice()));
  const spoken = turn.map((event) => caption(event, voice(true))).join(". ");
  const tones = turn.map(toneOf);
  const row = { value: seq, class: [...tones, seq >= fresh ? "fresh" : ""].filter(Boolean).join(" ") };
  if (seat === null || deeds.includes("")) {
    const text = turn.map((event) => caption(event, voice())).join(". ");
    return h("li", row, [picture(view, seat, players), h("span", null, marked(text, names))]);
  }
  return h("li", row, [
    picture(view, seat, players),
    h("span", { "aria-hidden": "true" }, [
      h("b", null, marked(voice().who(seat), names)), " ",
      ...deeds.map((deed, at) => [at ? t("log.then") : "", h("span", { class: tones[at] || null }, marked(deed, names))]),
    ]),
    h("span", { class: "unseen" }, marked(spoken, names)),
  ]);
}

/** @param {Api["GameView"]} view @param {number | null} seat @param {(string | null)[]} players @returns {Element} the picture of a seat, or the room for it */
export const picture = (view, seat, players) => (seat === null ? h("span", { class: "avatar" }) : avatar(view.seats[seat], players[seat]));
