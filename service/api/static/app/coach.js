/**
 * The coach of a first hand: three drawn steps before it, tags on strong cards in the exchange, and one sentence at
 * the first pick-up, the first burn and the first face-down card. What a ruleset does comes from its `in_short`.
 */

import { rankOf } from "./cards.js";
import { announce, h, showDialog } from "./dom.js";
import { t } from "./i18n.js";
import { listedMoves, ownSeat } from "./moves.js";
import { picture } from "./pictures.js";
import { readJson, write } from "./storage.js";

const SETTING = "shithead.coach";
const KNOWN = "-"; // instead of a hand: the reader needs no coach
const STRONG = ["burns", "asks_anything", "asks_transparent", "goes_on_anything"]; // what a tag names, the most important first

/** The hand that is coached, "" before the first one, and the sentences that were shown in it. @type {{hand: string, said: string[]}} */
let coach = { hand: "", said: [], ...readJson(SETTING) };
let spoken = ""; // the sentence that is shown until the reader acts

/** @param {Partial<typeof coach>} change */
function keep(change) {
  coach = { ...coach, ...change };
  write(SETTING, JSON.stringify(coach));
}

/** @typedef {Pick<import("./table_state.js").Game, "view" | "ruleset">} Table */

/** Show the three steps before the first hand of a player, once. @param {Table} table @param {() => void} changed draws the page */
export function offerCoach(table, changed) {
  const { status } = table.view;
  if (!coach.hand && ownSeat(table.view) && ["shuffling", "swapping"].includes(status)) help(table, changed);
}

/** Coach the hand that is open, from its beginning. @param {Table} table @param {() => void} changed */
export function help({ view, ruleset }, changed) {
  keep({ hand: view.id, said: [] });
  acted(); // what the hand before left on the page
  const know = () => {
    keep({ hand: KNOWN });
    dialog.close();
  };
  const dialog = h("dialog", { class: "panel coach", "aria-labelledby": "coach-title" }, [
    h("h2", { id: "coach-title" }, [t("coach.title")]),
    h("ol", { class: "steps" }, steps(ruleset).map(([drawn, text]) => h("li", null, [h("div", { class: "drawn" }, drawn), text]))),
    h("p", { class: "buttons" }, [
      h("button", { class: "main", autofocus: "", onclick: () => dialog.close() }, [t(view.status === "playing" ? "close" : "coach.deal")]),
      h("button", { onclick: know }, [t("coach.know")]),
    ]),
  ]);
  showDialog(dialog, changed);
}

const faces = (/** @type {(string | null)[]} */ ...cards) => cards.map((card) => picture(card, { label: "" }));
const arrow = () => h("span", { class: "arrow", "aria-hidden": "true" }, ["→"]);

/** The drawing and the words of each step. @param {Api["Ruleset"]} ruleset @returns {[any[], any][]} */
function steps({ in_short: short }) {
  const fan = (/** @type {any[]} */ cards) => h("span", { class: "some" }, cards);
  const special = short?.special ?? [];
  const rows = special.map(({ rank, does }) => h("li", null, [
    ...faces(rank === "X" ? "X1" : `${rank}h`),
    h("span", null, [h("strong", { class: "unseen" }, [t(`rank.${rank}`)]), " ", does.slice(0, 2).map((code) => h("span", { class: "does" }, [t(`short.${code}`)]))]),
  ]));
  const set = short?.burning_set ? [h("li", null, [h("b", { class: "times", "aria-hidden": "true" }, [`${short.burning_set}×`]), h("span", { class: "does" }, [t("short.set")])])] : [];
  return [
    [[fan(faces("6c", "9d", "Qs")), arrow(), fan(faces("8h", "Jc")), arrow(), fan(faces(null, null))], h("p", null, [t(`short.aim.${short?.played_for ?? "loser"}`), " ", t("coach.zones")])],
    [[fan(faces("7c")), arrow(), fan(faces("9h", "9s"))], h("p", null, [t("short.turn")])],
    [[], [h("h3", null, [t("short.special")]), h("ul", { class: "special" }, [...rows, ...set])]],
  ];
}

/** Return what a card of the exchange is good for, as its tag; empty for others and without the coach. @param {Table} table @param {string} card */
export function tagOf({ view, ruleset }, card) {
  if (coach.hand !== view.id || view.status !== "swapping") return "";
  const does = ruleset.in_short?.special.find(({ rank }) => rank === rankOf(card))?.does ?? [];
  const strong = STRONG.find((code) => does.includes(code));
  return strong ? t(`tag.${strong}`) : "";
}

/** The sentence at the first event of a type. @type {Record<string, string>} */
const FIRSTS = { pile_picked_up: "pick_up", pile_burned: "burn", blind_failed: "blind" };

/** @param {Api["Event"]} event */
const firstOf = ({ type, data }) => (type === "cards_played" && data.zone === "down" ? "blind" : FIRSTS[type]);

/**
 * Return the sentence of the coach on what happened or is to do for the first time; it stays until the reader acts.
 *
 * @param {Api["GameView"]} view that is shown @param {Api["Event"][]} events until it
 */
export function sentence(view, events) {
  if (coach.hand !== view.id || view.status !== "playing") return "";
  const own = ownSeat(view) && view.turn === view.as ? view.moves : [];
  const ahead = listedMoves({ ...view, moves: own }, "play_blind").length ? "blind" : own.length && own.every(({ type }) => type === "pick_up") ? "pick_up" : "";
  const happened = [...events.map(firstOf), ahead].filter((key) => key && !coach.said.includes(key));
  const newest = happened.at(-1);
  if (newest) {
    keep({ said: [...new Set([...coach.said, ...happened])] });
    spoken = t(`coach.${newest}`);
    announce(spoken);
  }
  return spoken;
}

/** Note that the reader acted, and so has read the sentence. */
export const acted = () => (spoken = "");
