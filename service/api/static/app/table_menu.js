/** The menu *More* of a table: piles, help, files, and giving up. */

import { get, identity } from "./api.js";
import { spread } from "./board.js";
import { seatName } from "./captions.js";
import { help } from "./coach.js";
import { block, others } from "./company.js";
import { announce, download, find, h, showDialog } from "./dom.js";
import { listed, t } from "./i18n.js";
import { ownSeat } from "./moves.js";
import { receiptsOf } from "./receipts.js";
import { showRules } from "./rules_sheet.js";
import { changed, game, over } from "./table_state.js";
import { act, attempt } from "./table_transport.js";

const EACH = 60_000; // milliseconds between two questions on who is away

export function offerRules() {
  document.getElementById("ask-rules")?.remove();
  const { id } = game.view.ruleset;
  find(".bar > div").append(h("button", { id: "ask-rules", type: "button", title: t("more.rules"), "aria-label": t("more.rules"), onclick: () => attempt(() => showRules(id)) }, ["?"]));
}

/** The menu; it stays open while the page is drawn anew, until an item is chosen. */
export function more() {
  const { view } = game;
  const summary = h("summary", { "data-key": "more" }, [t("more")]);
  const item = (/** @type {string} */ key, /** @type {() => void} */ act, text = t(key)) =>
    h("button", { class: "plain", "data-key": `menu ${text}`, onclick: () => {
      menu.removeAttribute("open");
      summary.focus({ preventScroll: true });
      act();
    } }, [text]);
  const link = (/** @type {string} */ key, /** @type {string} */ href, isNew = true) =>
    h("a", { href, "data-key": `menu ${key}`, ...(isNew ? { target: "_blank", rel: "noopener" } : {}) }, [t(key)]);
  const menu = h("details", { class: "more", open: document.querySelector(".more[open]") !== null }, [
    summary,
    h("div", { class: "menu" }, [
      item("pile.title", () => showCards(t("pile.title"), view.pile)),
      item("burned.title", () => showCards(t("burned.title"), view.burned)),
      ownSeat(view) && !over() ? item("more.help", () => help(game, changed)) : null,
      item("more.rules", () => attempt(() => showRules(view.ruleset.id))),
      h("p", { class: "quiet keys" }, [t("more.keys")]),
      h("p", { class: "quiet" }, [t("more.signs")]),
      h("hr"),
      link("act.replay", `/replay/${view.id}${location.hash}`),
      link("act.verify", `/verify?game=${view.id}`),
      item("more.evidence", () => attempt(saveEvidence)),
      receiptsOf(view.id).length ? item("more.receipts", saveReceipt) : null,
      h("hr"),
      link("act.lobby", "/", false),
      ...(ownSeat(view) && game.table ? others(game.table) : []).map((seat) =>
        item("block.do", () => attempt(() => block({ id: seat.player ?? "", name: seatName(seat) })), t("block.do", { name: seatName(seat) }))),
      ...(ownSeat(view) && !over() ? leaving(view).map(([key, act]) => item(key, act)) : []),
      ownSeat(view) && !over() ? item("act.forfeit", giveUp) : null,
    ]),
  ]);
  return menu;
}

/** @param {Blob} content @param {string} ending */
const save = (content, ending) => download(content, `${game.view.id}.${ending}`);

const saveReceipt = () => save(new Blob(receiptsOf(game.view.id).slice(-1), { type: "text/plain" }), "note");

/** With the token, which a plain link would not send. */
const saveEvidence = async () => save(await get(`/v1/games/${game.view.id}/evidence`, { as: "blob" }), "shx");

/** @param {string} title @param {string[]} cards */
export function showCards(title, cards) {
  const dialog = h("dialog", { class: "panel", "aria-label": title }, [
    h("h2", null, [title]),
    cards.length ? spread(cards) : h("p", null, [t("no.cards")]),
    h("p", { class: "buttons" }, [h("button", { onclick: () => dialog.close() }, [t("close")])]),
  ]);
  showDialog(dialog);
}

/** How people end a hand, or go on without one of them. @param {Api["GameView"]} view @returns {[string, () => void][]} */
function leaving({ as, seats, clock, status }) {
  const people = seats.filter((seat) => seat.kind === "human");
  if (people.length < 2 || status === "shuffling") return [];
  const others = people.some((seat) => seat.seat !== as && seat.agrees_end);
  const agrees = people.some((seat) => seat.seat === as && seat.agrees_end);
  return [
    .../** @type {[string, () => void][]} */ (agrees ? [] : [[others ? "act.agree" : "act.agree.ask", () => act({ type: "agree_end" })]]),
    .../** @type {[string, () => void][]} */ (clock ? [] : [["act.absent", () => attempt(showAbsent)]]),
  ];
}

/** The line on another player who asks to end the hand or is away, with what can be done; null if there is none. @returns {any[] | null} */
export function offer() {
  const { view, away } = game;
  const asking = view.seats.filter((seat) => seat.seat !== view.as && seat.agrees_end);
  const button = (/** @type {string} */ key, /** @type {() => void} */ act) =>
    h("button", { class: "offer", "data-key": key, disabled: game.busy, onclick: act }, [t(key)]);
  if (asking.length && !ownSeat(view)?.agrees_end) {
    return [t("offer.end", { who: listed(asking.map(seatName)) }), " ", button("offer.agree", () => act({ type: "agree_end" }))];
  }
  const [absent] = away.state === stateOf(view) ? away.found : [];
  return absent ? [absentFor(absent), " ", button("offer.absent", () => attempt(showAbsent))] : null;
}

const stateOf = (/** @type {Api["GameView"]} */ { id, version }) => `${id} ${version}`;

/** Ask once a minute who is away, while a hand without a clock stays as it is and another person may be awaited. */
export async function askAway() {
  const { view } = game;
  const now = performance.now();
  if (game.away.state !== stateOf(view)) game.away = { state: stateOf(view), at: now, found: [] };
  const { away } = game;
  const isOffered = ownSeat(view) && !over() && leaving(view).some(([key]) => key === "act.absent");
  if (now - away.at < EACH || !isOffered || document.hidden) return;
  away.at = now;
  /** @type {Api["Absences"] | null} */
  const answer = await get(`/v1/games/${view.id}/absences`).catch(() => null); // the next minute asks again
  const absent = answer?.absent ?? [];
  if (away !== game.away) return;
  if (absent.length && !away.found.length) announce(absent.map(absentFor).join(" "));
  if (absent.length || away.found.length) {
    away.found = absent;
    changed();
  }
}

/** @param {Api["Absences"]["absent"][number]} absent */
const absentFor = ({ seat, away_seconds: away }) => t("absent.for", { name: seatName(game.view.seats[seat]), n: Math.round(away / 60) });

async function showAbsent() {
  const { id } = game.view;
  /** @type {Api["Absences"]} */
  const { absent, after_seconds: after } = await get(`/v1/games/${id}/absences`);
  const claim = (/** @type {number} */ seat, /** @type {"stand_in" | "end"} */ then) =>
    h("button", { onclick: () => {
      dialog.close();
      act({ type: "claim_absence", absent: seat, then });
    } }, [t(`act.absent.${then}`)]);
  const dialog = h("dialog", { class: "panel", "aria-label": t("act.absent") }, [
    h("h2", null, [t("act.absent")]),
    absent.length ? null : h("p", null, [t("absent.nobody", { n: Math.round(after / 60) })]),
    ...absent.flatMap((one) => [
      h("p", null, [absentFor(one)]),
      h("p", { class: "buttons" }, one.claims.map((then) => claim(one.seat, then))),
    ]),
    h("p", { class: "buttons" }, [h("button", { onclick: () => dialog.close() }, [t("close")])]),
  ]);
  showDialog(dialog);
}

const giveUp = () => {
  if (confirm(t("act.forfeit.sure"))) act({ type: "forfeit" });
};

/** @param {Event} event */
export function closeMenu(event) {
  const menu = document.querySelector(".more[open]");
  if (!menu || (event instanceof KeyboardEvent ? event.key !== "Escape" : menu.contains(/** @type {Node} */ (event.target)))) return;
  menu.removeAttribute("open");
  if (event instanceof KeyboardEvent) menu.querySelector("summary")?.focus();
}
