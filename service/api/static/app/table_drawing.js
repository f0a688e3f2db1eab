/** How the page of a table looks: felt, cards, line, buttons, log and notices, drawn from its state. */

import { identity, post } from "./api.js";
import { middle, outcome, plaque, showSeats, sides, sizeClass } from "./board.js";
import { caption, lastAction, lastFailure, marked, recentActions, resultText, seatName, stalemateText } from "./captions.js";
import { asClock, secondsTo } from "./clock.js";
import { offerCoach, sentence } from "./coach.js";
import { nextDeal, nextText, playAgain } from "./company.js";
import { announce, find, h, replace } from "./dom.js";
import { detail, evening, ratingLine, share } from "./ending.js";
import { moment, t } from "./i18n.js";
import { isListed, ownSeat } from "./moves.js";
import { actions, chosenMove, fitHand, hand, hint, listen, noChoice, orderOf, press, situation, slots } from "./own.js";
import { sound } from "./sound.js";
import { rehide } from "./stage.js";
import { askAway, more, offer, offerRules, showCards } from "./table_menu.js";
import { changed, game, over, pictured, players, root, voice } from "./table_state.js";
import { act, askWhy, attempt, catchUp, deal, inviteFriends, isUrgent, pause, queue } from "./table_transport.js";
import { markTurns, plainTitle, setTitle } from "./title.js";
import { logRows } from "./turns.js";

const DOUBLE = 400; // milliseconds between two presses on a card that play it

/** @typedef {import("./api.js").Problem} Problem */

let pressed = { cards: "", version: -1, at: 0 }; // the card of the last press, for a double click

/** @type {import("./own.js").Handlers} */
const handlers = {
  act,
  // A press belongs to the moment that was shown when it began: cards of an earlier one are not chosen.
  press: (cards) => {
    if (game.busy || game.shown !== game.view) return;
    game.refusal = null;
    const { version } = game.view;
    const isSame = cards.join() === pressed.cards && version === pressed.version;
    const isDouble = isSame && performance.now() - pressed.at < DOUBLE && game.choice.cards.includes(cards[0]);
    pressed = { cards: cards.join(), version, at: performance.now() };
    if (isDouble && game.view.status === "playing") return handlers.make();
    press(game, cards, act);
    changed();
  },
  blind: (slot) => {
    if (game.shown !== game.view) return;
    game.refusal = null;
    game.choice = { ...noChoice(), blind: game.choice.blind === slot && !game.dragging ? null : slot };
    changed();
  },
  make: () => {
    const move = chosenMove(game);
    if (!move || game.busy || game.shown !== game.view) return;
    if (move.type !== "play" || isListed(game.view, move.cards)) act(move);
    else if (game.view.turn === game.view.as) askWhy(move.cards);
    else changed();
  },
  why: askWhy,
  skip: catchUp,
  changed,
};

/** Whether a press on the pile plays the chosen cards. */
function canPlay() {
  const move = chosenMove(game);
  return move?.type === "play_blind" || (move?.type === "play" && isListed(game.view, move.cards));
}

const spacious = () => matchMedia("(min-width: 40rem) and (min-height: 34rem)").matches;
const low = () => matchMedia("(max-height: 33.99rem) and (min-width: 34rem)").matches;
const round = () => matchMedia("(min-width: 60rem) and (min-height: 34rem)").matches;

/** Once for each hand. */
function createPage() {
  [drawn, opened, isReady] = [0, game.opened, false];
  offerRules();
  replace(
    root,
    h("h1", { class: "unseen" }, [t("table.title", { ruleset: game.ruleset.name, n: game.view.hand })]),
    h("div", { id: "notices" }),
    h("div", { id: "felt" }, [
      h("div", { id: "others", role: "group", "aria-label": t("table.others") }),
      h("div", { id: "middle", role: "group", "aria-label": t("table.middle") }),
      h("div", { id: "own", role: "group", "aria-label": t("table.own") }, [
        h("div", { id: "say" }),
        h("div", { id: "cards" }, [h("div", { id: "slots" }), h("div", { id: "hand", role: "group", "aria-label": t("table.hand") })]),
      ]),
    ]),
    h("aside", { id: "log", "aria-label": t("table.log") }),
  );
  offerCoach(game, changed);
  listen(find("#cards"), game, handlers);
  find("#middle").addEventListener("click", (event) => {
    if (!(event.target instanceof Element && event.target.closest("[data-pile]"))) return;
    if (canPlay()) handlers.make();
    else showCards(t("pile.title"), game.view.pile);
  });
}

/** Whether the pointer is pressed: elements under it are not replaced, or the click would be lost. */
let pressing = false;
let isPostponed = false;

function release() {
  setTimeout(() => {
    pressing = false;
    if (isPostponed) render();
  });
}

let ended = { opened: 0, at: 0 }; // the hand of the result that is shown, and since when
let opened = 0; // the hand that the parts of the page were built for, as `game.opened`
let drawn = 0; // the version that seats and middle show
let usesKeys = false; // whether the last input was a key
let isMarked = false; // whether the title shows that the reader is on turn
let isReady = false; // whether the reader could act when the page was drawn last
let isOwed = false; // whether the focus was lost, and nothing could take it yet

addEventListener("pointerdown", () => (pressing = true), { capture: true });
addEventListener("pointerup", release, { capture: true });
addEventListener("click", () => (pressing = false), { capture: true });
addEventListener("pointercancel", release, { capture: true });
addEventListener("keydown", () => (usesKeys = true), { capture: true });
addEventListener("pointerdown", () => (usesKeys = false), { capture: true });

export function render() {
  if (opened !== game.opened) createPage();
  isPostponed = pressing || game.dragging;
  if (isPostponed) return;
  const focused = find("#own").contains(document.activeElement);
  const view = game.shown;
  const seen = seenEvents();
  const own = ownSeat(view);
  const actionsFrom = (/** @type {number} */ seat, /** @type {number} */ from) => recentActions(seen.filter((event) => event.seq >= from), seat);
  const did = (/** @type {number} */ seat) => [actionsFrom(seat, since()), own ? actionsFrom(seat, game.earlierMove) : []].find((some) => some.length) ?? [];
  const bag = game.table?.seats.find((seat) => seat.bag)?.seat ?? null;
  const scene = { view, did, bag, players: players(), order: orderOf(game), line: lineOf(seen) };
  const wide = round();
  const found = sides(view, wide);
  const others = found.left.length + found.top.length + found.right.length;
  const size = sizeClass(others);
  root.dataset.others = String(others);
  root.className = `${size} ${own ? "seated" : "watching"} ${view.status}${view === game.view ? "" : " behind"}`;
  const side = (/** @type {"left" | "top" | "right"} */ name) =>
    h("ul", { class: `side ${name}` }, found[name].map((seat) => plaque(seat, scene, size === "crowd" || (!spacious() && others > (low() ? 3 : 5)))));
  // While an event is shown, what moves is not drawn anew.
  if (!queue.isBehind() || drawn !== view.version) {
    showSeats(side("left"), side("top"), side("right"));
    replace(find("#middle"), over() ? result() : middle(view, scene));
    drawn = view.version;
  }
  find("#middle").classList.toggle("legal", pictured().isMine && canPlay());
  replace(find("#slots"), own && !over() ? slots(pictured(), handlers) : []);
  replace(find("#hand"), own && !over() ? hand(pictured(), handlers) : []);
  find("#own").classList.toggle("turn", view.turn === view.as && own !== null);
  find("#own").setAttribute("aria-busy", String(game.busy));
  replace(find("#say"), ownStatus());
  rehide();
  const [before, moment] = [isReady, pictured()];
  isReady = moment.isMine || over() || (own !== null && view.status === "swapping" && !own.ready && !moment.isBehind);
  const isLost = document.activeElement === document.body || (focused && !find("#own").contains(document.activeElement));
  isOwed = (isLost && (isOwed || focused || (usesKeys && isReady))) || (usesKeys && isReady && !before && focused);
  if (isOwed) isOwed = !refocus();
  fitHand();
  showLog();
  showNotices();
  tick();
  announceEvents(seen);
}

const seenEvents = () => game.events.filter((event) => event.seq < game.shown.version);

/** @param {Api["Event"][]} events */
const lineOf = (events) => marked(lastAction(events, voice()), game.view.seats.map(seatName));

/** Focus the next card after the focused element was removed, for example a played card; return whether there is one. */
function refocus() {
  const own = find("#own");
  const next = ["#hand button.leads.fits", "button.fits", "button.main", "button[data-own]"].map((one) => own.querySelector(one)).find(Boolean);
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
  return own.contains(document.activeElement);
}

/** The seq from which actions are shown: since the reader's last move; for a spectator, about the last round. */
function since() {
  if (ownSeat(game.view)) return game.lastMove;
  return game.shown.version - 3 * game.view.seats.length;
}

function ownStatus() {
  const { view, refusal } = game;
  const own = ownSeat(view);
  const moment = pictured();
  const text = over() ? "" : situation(moment);
  const said = over() || !own ? "" : hint(moment, failure(own.seat), sentence(game.shown, seenEvents()));
  const offered = over() || !own || game.waiting || moment.isBehind ? null : offer();
  const clock = own && view.clock && game.shown.turn === view.as ? h("span", { class: "clock", "data-clock": "" }) : null;
  const beside = clock && (said || offered) && !game.waiting ? [clock, " "] : []; // a hint may stand in place of the sentence on the turn
  return [
    h("p", { class: "now" }, [
      own ? h("strong", { class: "name", translate: "no" }, [seatName(own), text ? " · " : ""]) : null,
      text ? h("span", null, [text]) : null,
      beside.length ? null : clock,
    ]),
    over() || !own ? null : h("p", { class: `hint${offered ? " offered" : ""}`, role: game.waiting ? "status" : null }, [...beside, ...(offered ?? [said])]),
    refusal ? refusalBox(refusal) : null,
    h("div", { class: `buttons${over() || !own ? "" : " fixed"}` }, [
      ...(over() ? afterwards() : own || !moment.isBehind ? actions(moment, handlers) : []),
      own?.stand_in && own.out === null && !over() ? h("button", { onclick: () => attempt(() => post(`/v1/games/${view.id}/back`)) }, [t("act.back")]) : null,
      more(),
    ]),
  ];
}

/** @param {number} seat @returns {string} the sentence on the hidden card that did not fit, if that was the seat's last action */
const failure = (seat) => lastFailure(seenEvents(), seat, voice());

/** @param {Problem} problem */
function refusalBox(problem) {
  const { rule, rule_text: text } = problem.body;
  const address = `/rules/${game.view.ruleset.id}#${rule}`;
  const open = spacious() || document.querySelector(".refusal details[open]") !== null;
  return h("div", { class: "refusal", "data-key": "refusal" }, [
    h("p", { lang: problem.lang }, [h("strong", null, [problem.message])]),
    rule ? h("details", { open: open || null }, [
      h("summary", { "data-key": "refusal rule" }, [t("refusal.rule", { rule })]),
      h("p", { lang: "en" }, [h("a", { href: address, target: "_blank", rel: "noopener" }, [rule]), text ? ` ${text}` : ""]),
    ]) : null,
  ]);
}

function result() {
  const { view, ratings } = game;
  const event = game.events.filter((one) => one.type === "game_aborted")[0];
  const heading = view.result ? resultText(view.result, voice()) : event ? caption(event, voice()) : t("did.game_aborted");
  if (ended.opened !== game.opened) ended = { opened: game.opened, at: performance.now() };
  const found = outcome(view, heading, {
    detail: (seat) => [ratingLine(ratings.before, ratings.after, players()[seat]), h("small", null, [detail(game.events, seat)])],
    players: players(), why: stalemateText(view, game.events), below: evening(game.table),
  });
  found.style.setProperty("--since", `${Math.round(ended.at - performance.now())}ms`); // what moves goes on if it is drawn anew
  return found;
}

function afterwards() {
  const { view, table } = game;
  const seated = table?.as !== null && table?.as !== undefined;
  const next = table && table.status !== "closed" && (seated || table.host === identity()?.id);
  const gone = seated && table.status !== "between" && view.seats.some((seat) => seat.kind === "human" && seat.seat !== view.as);
  return [
    table ? nextDeal(table, pause) : null,
    next ? h("button", { class: gone ? "" : "main", "data-key": "next", disabled: game.busy, onclick: () => deal() }, [t("act.next")]) : null,
    gone ? h("button", { class: "main", "data-key": "again", disabled: game.busy, onclick: () => attempt(() => playAgain(table)) }, [t("invite.again")]) : null,
    ownSeat(view) ? h("button", { "data-key": "friends", disabled: game.busy, onclick: inviteFriends }, [t("invite.do")]) : null,
    h("button", { "data-key": "share", onclick: shareHand }, [t("act.share")]),
  ];
}

async function shareHand() {
  const address = `${location.origin}/replay/${game.view.id}${location.hash}`;
  if (await share(address, plainTitle())) announce((find("[data-key=share]").textContent = t("wait.copied")));
}

/** Show the log; the reader's place in it stays. */
function showLog() {
  const log = find("#log");
  if (!log.firstChild) {
    const setUp = h("details", { class: "setup" }, [h("summary", null, [t("log.setup")]), h("ol", { reversed: "" })]);
    const turns = h("div", { class: "turns", tabindex: 0, role: "group", "aria-label": t("table.log") }, [h("ol", { reversed: "" }), setUp]);
    log.append(h("details", null, [h("summary", null, [t("table.log")]), turns]));
  }
  if (round()) find("#log details").setAttribute("open", "");
  const fresh = ownSeat(game.view) ? game.lastMove : Infinity;
  const rows = logRows(seenEvents(), { view: game.view, players: players(), fresh, voice });
  const [, setUp] = log.querySelectorAll("details");
  setUp.hidden = !rows[1].length;
  log.querySelectorAll("ol").forEach((list, at) => replace(list, rows[at]));
}

function showNotices() {
  const place = find("#notices");
  replace(
    place,
    ...[restored(), game.unchecked].filter(Boolean).map((text) => h("p", { class: "notice", role: "status" }, [text])),
    ...[game.trouble, ...game.warnings].filter(Boolean).map((text) => h("p", { class: "notice warning", role: "alert" }, [text])),
  );
  // The table below is as much lower: its actions stay in the window.
  const above = document.getElementById("unstored")?.offsetHeight ?? 0;
  root.style.setProperty("--notices", `${above + (place.firstChild ? place.offsetHeight : 0)}px`);
}

/** What a restore means for this hand, in words; "" without one. */
function restored() {
  if (!game.restored) return "";
  const [at, since] = [game.restored.at, game.restored.since].map((one) => moment(one));
  return [t("warn.restored", { at, since }), game.view.status === "aborted" ? t("warn.restored.ended") : ""].join(" ");
}

/** Announce new events, with sound and title. @param {Api["Event"][]} seen the events until the pictured view */
function announceEvents(seen) {
  const view = game.shown;
  const mine = view.turn === view.as && Boolean(ownSeat(view));
  const wasMine = isMarked;
  isMarked = mine;
  setTitle(t("table.title", { ruleset: game.ruleset.name, n: view.hand }));
  markTurns({ here: Number(mine) });
  const fresh = seen.filter((event) => event.seq >= game.announced);
  if (!fresh.length) return;
  game.announced = view.version;
  const quiet = new Set(["deck_committed", "entropy_committed", "entropy_revealed", "cards_drawn"]);
  const spoken = fresh.filter((event) => !quiet.has(event.type)).map((event) => caption(event, voice(true)));
  announce([...spoken.slice(-6), over() || queue.isBehind() ? "" : situation(pictured())].filter(Boolean).join(". "));
  sound(fresh, mine && !wasMine);
}

/** @param {number} left seconds until the time-out @param {string | null} reserveFrom @returns {string} the turn with the reserve after it, or what is left of the reserve */
function timeLeft(left, reserveFrom) {
  const turn = reserveFrom ? secondsTo(reserveFrom) : left;
  if (!turn && left) return t("clock.reserve", { time: asClock(left) });
  return turn < left ? `${asClock(turn)} + ${asClock(left - turn)}` : asClock(left);
}

/** Show the time left, and that until the next hand; ask now and then who is away. */
export function tick() {
  if (game.view) askAway();
  for (const place of document.querySelectorAll("[data-next]")) if (game.table?.next_deal_at) place.textContent = nextText(game.table);
  const deadline = game.view?.deadline;
  const left = deadline ? secondsTo(deadline) : null;
  if (game.view && game.shown !== game.view && isUrgent()) catchUp();
  const text = left === null || !game.view.clock || game.shown !== game.view ? "" : timeLeft(left, game.view.reserve_from);
  for (const clock of document.querySelectorAll("[data-clock]")) {
    clock.textContent = text;
    clock.classList.toggle("scarce", left !== null && left <= 10);
  }
}
