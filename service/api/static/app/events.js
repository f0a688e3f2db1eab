/**
 * The event list of a replay by turns, each event with the rule statement that decided it; the set-up is folded.
 *
 * Statements come with the decisions of the audit, which are fetched for the visible rows. The number
 * of an event is its seq in the record, from 0; a click on it shows the game after it.
 */

import { get, newest } from "./api.js";
import { caption, marked, seatName } from "./captions.js";
import { ruleLink } from "./decision.js";
import { find, h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { goesOn, picture, seatOf, setUpOf, toneOf } from "./turns.js";

/**
 * @typedef {Object} Page the data and functions of the page that the list uses
 * @property {string} game
 * @property {(seat: number) => string} who the name of a seat
 * @property {() => Api["GameView"]} view with the names of all seats
 * @property {() => (string | null)[]} players the id of each seat's player
 * @property {() => import("./decision.js").Replay} replay
 * @property {(version: number) => void} onpick called after a click on a row
 * @property {() => void} onvisible called after other rows became visible
 * @property {(seq: number) => void} ondecision called after the decision of an event was fetched
 */

/** @param {Page} page */
export function eventList({ game, who, view, players, replay, onpick, onvisible, ondecision }) {
  /** Decisions by event. @type {Map<number, Api["Decision"]>} */
  const decisions = new Map();
  /** @type {Map<number, Promise<Api["Decision"]>>} */
  const inFlight = new Map();
  const begin = newest();
  let isNewest = begin(); // until the decisions are forgotten
  /** The visible events. @type {Set<number>} */
  const visible = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const seq = Number(target.getAttribute("value"));
      if (isIntersecting) visible.add(seq);
      else visible.delete(seq);
    }
    onvisible();
  }, { rootMargin: "80px" });

  let begun = 0; // the first event after the set-up
  /** Whether the reader wants to see the set-up; null: while the present event is in it. @type {boolean | null} */
  let unfolded = null;
  let present = 0;
  const fold = h("button", { id: "setup", class: "plain", "aria-controls": "rows", onclick: () => {
    unfolded = find("#rows").classList.contains("folded");
    showSetUp();
  } });

  /** Fold the set-up, or show it; what is below it stays where it is. */
  function showSetUp() {
    const list = find("#rows");
    const row = /** @type {HTMLElement} */ (list.children[Math.min(Math.max(present, begun), list.childElementCount - 1)]);
    const isOpen = unfolded ?? present < begun;
    const top = row.offsetTop - list.scrollTop;
    list.classList.toggle("folded", !isOpen);
    fold.hidden = !begun;
    fold.textContent = t("log.setup");
    fold.setAttribute("aria-expanded", String(isOpen));
    list.scrollTop = row.offsetTop - top;
  }

  /** Show the rows of all events. @param {Api["Frame"][]} frames */
  function fill(frames) {
    watch.disconnect();
    visible.clear();
    begun = setUpOf(frames.map(({ event }) => event));
    const names = view().seats.map(seatName);
    const rows = frames.map(({ version, event }, index) => {
      const same = goesOn(event, frames[index - 1]?.event);
      const tone = toneOf(event);
      return h("li", { value: event.seq, class: [same ? "same" : "", index < begun ? "setup" : "", tone].filter(Boolean).join(" ") }, [
        h("button", { type: "button", class: "event", tabindex: -1, "data-key": `row ${event.seq}`, onclick: () => onpick(version) }, [
          h("span", { class: "n" }, [event.seq]),
          picture(view(), same ? null : seatOf(event), players()),
          h("span", { class: tone || null }, marked(caption(event, { who }), names)),
        ]),
        h("span", { class: "rules", lang: "en" }),
      ]);
    });
    replace(find("#rows"), rows);
    rows.forEach((row) => watch.observe(row));
    showSetUp();
    cite();
  }

  /** @param {number} seq @returns {string[]} the statements behind an event, the deciding one first; none before the decision is fetched */
  const rulesOf = (seq) => decisions.get(seq)?.effects.find((one) => one.seq === seq)?.rules ?? [];

  /** Show in the rows of some events the deciding statement, and the number of attempts refused before the move. */
  function cite(seqs = [...decisions.keys()]) {
    for (const seq of seqs) {
      const place = document.querySelector(`#rows li[value="${seq}"] .rules`);
      const { first, refused } = decisions.get(seq) ?? {};
      const n = seq === first ? refused?.length : 0;
      const tried = n ? h("span", { class: "tried", lang: document.documentElement.lang, role: "img", "aria-label": t("replay.refused", { n }), title: t("replay.refused", { n }) }, [`✗ ${n}`]) : null;
      if (place) replace(place, tried, rulesOf(seq).slice(0, 1).map((rule) => ruleLink(rule, replay())));
    }
  }

  /** @param {number} seq @returns {Promise<Api["Decision"]>} the decision that an event belongs to */
  function decisionOf(seq) {
    const known = decisions.get(seq);
    if (known) return Promise.resolve(known);
    let request = inFlight.get(seq);
    if (!request) {
      const isCurrent = isNewest;
      request = get(`/v1/games/${game}/audit/moves/${seq}`).then((found) => {
        if (!isCurrent()) return decisionOf(seq);
        for (let at = found.first; at <= found.last; at += 1) {
          decisions.set(at, found);
          cite([at]);
          ondecision(at);
        }
        return found;
      }).finally(() => isCurrent() && inFlight.delete(seq));
      inFlight.set(seq, request);
    }
    return request;
  }

  /** Fetch the decisions of the visible rows, the nearest first, while `isCurrent` returns true. @param {number} seq @param {() => boolean} isCurrent */
  async function explain(seq, isCurrent) {
    const distance = (/** @type {number} */ one) => Math.abs(one - seq);
    while (isCurrent()) {
      const next = [...visible].filter((one) => !decisions.has(one) && !inFlight.has(one)).sort((a, b) => distance(a) - distance(b))[0];
      if (next === undefined) return;
      await decisionOf(next);
    }
  }

  /** Mark the row of an event, and scroll it into view. @param {number} seq */
  function mark(seq) {
    present = seq;
    if (seq < begun && unfolded === false) unfolded = null;
    showSetUp();
    const list = find("#rows");
    /** @type {HTMLElement | null} */
    const before = list.querySelector("[aria-current]");
    const row = /** @type {HTMLElement} */ (list.children[seq]);
    const button = /** @type {HTMLElement} */ (row.firstElementChild);
    if (before && before !== button) {
      before.removeAttribute("aria-current");
      before.tabIndex = -1;
    }
    button.setAttribute("aria-current", "step");
    button.tabIndex = 0;
    const up = row.offsetTop;
    if (up < list.scrollTop + 40 || up + row.offsetHeight > list.scrollTop + list.clientHeight - 40) list.scrollTop = up - list.clientHeight / 3;
  }

  /** Forget the decisions, also those that are on their way: at the end of the hand they show more. */
  function forget() {
    isNewest = begin();
    decisions.clear();
    inFlight.clear();
  }

  return { fold, fill, mark, cite, explain, decisionOf, rulesOf, decision: (/** @type {number} */ seq) => decisions.get(seq), forget };
}
