/**
 * Notes on the events of a hand: the reader's own, and after the seal those for its seats and referees.
 *
 * They are no part of the record and never evidence.
 */

import { Problem, get, identity, isUnsure, newest, post } from "./api.js";
import { answered } from "./connection.js";
import { h, svg } from "./dom.js";
import { t } from "./i18n.js";
import { WIDTH, lane } from "./timeline.js";

const LONGEST = 1000; // characters of a note

/**
 * @typedef {Object} Room what this module needs of the replay room
 * @property {string} game
 * @property {() => boolean} shares whether the reader may write notes for others
 * @property {() => number} last the number of events
 * @property {() => void} changed called after the notes were fetched or changed
 * @property {(problem: any) => void} report
 */

/** @param {Room} room */
export function eventNotes({ game, shares, last, changed, report }) {
  /** @type {Api["Note"][]} */
  let notes = [];
  /** What is typed and not kept yet, by event: the panel is drawn anew at every step. @type {Map<number, string>} */
  const drafts = new Map();
  const player = identity();
  const begin = newest();
  const own = (/** @type {number} */ seq) => notes.find((one) => one.seq === seq && one.author === player?.id);

  async function load() {
    if (!player) return;
    const isNewest = begin();
    const { items } = await get(`/v1/games/${game}/notes`);
    if (!isNewest()) return;
    notes = items;
    mark();
    changed();
  }

  /** Mark the rows of events with notes. */
  function mark() {
    const noted = new Set(notes.map((one) => String(one.seq)));
    for (const row of document.querySelectorAll("#rows > li")) row.classList.toggle("noted", noted.has(row.getAttribute("value") ?? ""));
  }

  /** @param {number} seq @param {string} text @param {"me" | "dispute"} visibility */
  async function keep(seq, text, visibility) {
    try {
      if (text) await post(`/v1/games/${game}/notes/${seq}`, { text, visibility }, { method: "PUT", once: true });
      else if (own(seq)) await post(`/v1/games/${game}/notes/${seq}`, undefined, { method: "DELETE", once: true });
      drafts.delete(seq);
      await load();
    } catch (problem) {
      report(problem);
      if (isUnsure(problem)) await settle(seq, text);
    }
  }

  /** After no answer, when the server answers again: state that a note was not kept, or nothing. @param {number} seq @param {string} text */
  async function settle(seq, text) {
    await answered(load);
    if ((own(seq)?.text ?? "") === text) drafts.delete(seq);
    else report(Object.assign(new Problem({ detail: t("note.unkept") }, 409), { lang: null }));
    changed();
  }

  /** The notes on an event, and the form for the reader's own. @param {number} seq */
  function panel(seq) {
    if (!player) return null;
    const mine = own(seq);
    const text = h("textarea", { rows: 2, maxlength: LONGEST, "aria-label": t("note.yours"), "data-key": `note ${seq}`, oninput: () => drafts.set(seq, text.value) }, [drafts.get(seq) ?? mine?.text ?? ""]);
    const others = h("input", { type: "checkbox", checked: mine?.visibility === "dispute" || null, "data-key": `note for ${seq}` });
    return h("section", { class: "notes" }, [
      h("h3", null, [t("note.title", { n: seq })]),
      ...notes.filter((one) => one.seq === seq && one !== mine).map((one) => h("p", { translate: "no" }, [h("b", null, [one.name ?? t("note.nobody")]), " ", one.text])),
      text,
      shares() ? h("label", { class: "box" }, [others, t("note.others")]) : null,
      h("p", { class: "buttons" }, [h("button", { "data-key": `keep ${seq}`, onclick: () => keep(seq, text.value.trim(), others.checked && shares() ? "dispute" : "me") }, [t("note.keep")]), mine ? h("button", { "data-key": `delete ${seq}`, onclick: () => keep(seq, "", "me") }, [t("note.delete")]) : null]),
    ]);
  }

  /** A lane with a mark at each event that has a note; null without notes. */
  function marks() {
    if (!notes.length) return null;
    const x = (/** @type {number} */ seq) => Math.round((seq / Math.max(1, last() - 1)) * WIDTH);
    return lane("noted", 10, t("note.lane"), [svg("path", { class: "note-mark", d: notes.map((one) => `M${x(one.seq)} 0V10`).join("") })]);
  }

  return { load, panel, marks, mark };
}
