/** The page of a table: the hand being played, its result, and waiting between hands. */

import { Problem, call, get, identity, idle, post, problemWith } from "./api.js";
import { avatar } from "./avatars.js";
import { middle, outcome, plaque, showSeats, sides, sizeClass, spread } from "./board.js";
import { caption, lastAction, lastFailure, marked, recentActions, resultText, seatName } from "./captions.js";
import { now } from "./clock.js";
import { block, guestList, guestsOf, nextDeal, nextText, others, playAgain } from "./company.js";
import { connected } from "./connection.js";
import { announce, download, find, h, replace, showDialog } from "./dom.js";
import { detail, share } from "./ending.js";
import { guided } from "./guide.js";
import { listed, moment, start, t } from "./i18n.js";
import { live } from "./live.js";
import { seatKey, signed } from "./signing.js";
import { isListed, ownSeat, turnedCard } from "./moves.js";
import { followNotices, showing } from "./notices.js";
import { actions, chosenMove, fitHand, hand, hint, listen, noChoice, orderOf, press, situation, slots } from "./own.js";
import { askToSave, checkPlayer, ensurePlayer, guestLine, showAccount } from "./player.js";
import { receiptsOf, storeReceipt } from "./receipts.js";
import { Chain, contribute, entropyMode, fetchReceipt, handInLost, restoreBetween } from "./record.js";
import { offerSettings } from "./settings.js";
import { sound } from "./sound.js";
import { rehide, stage, timeOf } from "./stage.js";
import { problemState } from "./states.js";
import { PACES, pace, story } from "./story.js";
import { heldIn, viewModel } from "./viewmodel.js";

const HIDDEN_POLL = 10_000; // milliseconds between polls for the next hand while the page is hidden
const SLOW = 3000; // milliseconds after which the page states that it waits for the server
const DOUBLE = 400; // milliseconds between two presses on a card that play it
const AGAIN = 700; // milliseconds after a pick-up in which another press on its button is not one more
const HURRY = 10_000; // milliseconds before the end of the reader's time in which everything is shown at once
const MOST = 100; // events behind which the page does not show one by one
const LOGGED = 80; // number of the newest events that the log shows
const SHUFFLING = new Set(["entropy_committed", "entropy_revealed", "deck_committed"]); // the replay shows these, the log does not
const root = find("#table");

/** The state of the page. */
const game = {
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
  /** The version at which the reader last moved: events from this seq on are shown as new. */
  lastMove: 0,
  /** The one at which the reader moved before that. */
  earlierMove: 0,
  /** The face-down cards that the reader turned, each with the versions between which that was. @type {{card: string, seat: number, from: number, to: number}[]} */ turned: [],
  /** Events before this seq have been animated and announced. */
  announced: 0,
  /** @type {Problem | null} */ refusal: null,
  /** The problem of the last call that no action of the reader caused; a later answer removes it. */ trouble: "",
  /** @type {string[]} */ warnings: [],
  /** A restore that can have lost a part of this hand. @type {import("../verifier/notes.js").Restore | null} */ restored: null,
  /** The notice of a check that this browser cannot make. */ unchecked: "",
};
/** @typedef {typeof game} Game */
/** @typedef {typeof handlers} Handlers */
/** @type {Chain} */
let chain;
let leaving = new AbortController();
/** @type {Promise<void> | null} */
let refreshing = null;
let isStale = false; // `refresh` was called after the last fetch began

// ---- loading and following

/** @param {string} id */
async function openGame(id) {
  leaving.abort();
  leaving = new AbortController();
  const signal = leaving.signal;
  showing(id);
  const view = await get(`/v1/games/${id}`, { signal });
  const [table, ruleset] = await Promise.all([
    get(`/v1/tables/${view.table}`, { signal }),
    get(`/v1/rulesets/${view.ruleset.id}`, { signal }),
  ]);
  Object.assign(game, {
    view, shown: view, table, ruleset, events: [], choice: noChoice(), refusal: null, trouble: "", warnings: [], restored: null,
    lastMove: 0, earlierMove: 0, turned: [], announced: view.version,
  }); // prettier-ignore
  history.replaceState(null, "", `/play/${id}${location.hash}`);
  queue.flush();
  fed = view.version;
  drawn = 0;
  chain = new Chain(id, warn);
  createPage();
  render();
  act.entropy();
  follow(id, signal).catch((problem) => (problem instanceof Problem && problem.status === 409 ? endIfLost(problem) : report(problem)));
  if (receiptsOf(id).some((note) => Number(note.split("\n")[1]) > view.version)) await endIfLost();
}

/**
 * After the server showed less than before: the receipt of a move that a declared restore lost ends the hand. It is
 * shown again, also if it goes on after a restore.
 *
 * @param {Problem} [problem] shown if nothing explains it
 */
async function endIfLost(problem) {
  const { id, as } = game.view;
  const restore = game.events[0] ? await restoreBetween(game.events[0].at) : null;
  const ended = typeof as === "number" && !isOver(game.view) && (await handInLost(id));
  if (ended || (problem && restore)) {
    await openGame(id);
    game.restored ??= restore;
    showConnection();
  } else if (problem) report(problem);
}

/** Show a fault of the log, unless a declared restore explains that another event stands there. @param {string} text @param {number} seq */
async function contradicted(text, seq) {
  const [begun, recorded] = [game.events[0]?.at, game.events[seq]?.at];
  if (begun && recorded) game.restored ??= await restoreBetween(begun, recorded);
  if (!game.restored) game.warnings.push(text);
  showConnection();
  await endIfLost();
}

/** @param {string} id @param {AbortSignal} signal */
async function follow(id, signal) {
  const onstate = (/** @type {boolean} */ isUp) => {
    if (isUp && !game.connected) refresh(); // an earlier fetch of the view may have failed
    reached(isUp);
  };
  for await (const { line } of live(id, 0, { signal, onstate })) {
    const event = JSON.parse(line);
    chain.add(line);
    chain.checkEntropy(event);
    game.events[event.seq] = event;
    if (event.seq >= game.view.version) refresh();
    else if (event.seq === game.shown.version - 1) render();
  }
  if (signal.aborted) return;
  await refresh();
  await finish(signal);
}

/** Fetch the view; a call during a fetch causes one more fetch after it. */
async function refresh() {
  isStale = true;
  refreshing ??= (async () => {
    while (isStale) {
      isStale = false;
      const id = game.view.id;
      const view = await get(`/v1/games/${id}`, { signal: leaving.signal });
      if (view.id === game.view.id) take(view);
    }
  })()
    .catch(report)
    .finally(() => (refreshing = null));
  return refreshing;
}

/** Show a view, unless it is older than the present one. @param {Api["GameView"]} view */
function take(view) {
  if (view.version < game.view.version) return;
  game.trouble = "";
  if (view.version > game.view.version) forget(view);
  const held = new Set(heldIn(view));
  game.choice.cards = game.choice.cards.filter((card) => held.has(card));
  game.choice.staged = game.choice.staged.map((cards) => cards.filter((card) => held.has(card)));
  if (view.status !== game.view.status) game.choice = noChoice();
  const isNew = view.version > game.view.version;
  const turned = turnedCard(game.view, view);
  if (turned) game.turned.push({ card: turned, seat: Number(view.as), from: game.view.version, to: view.version });
  game.view = view;
  if (isNew) advance();
  else if (game.shown.version === view.version) game.shown = view;
  render();
  act.entropy();
}

// ---- the picture, which follows the newest view event by event

const queue = story({
  show: ({ view }) => {
    game.shown = view.version === game.view.version ? game.view : view;
    render();
  },
  time: timeOf,
  stage: (entry, how) => stage(entry, game.shown, ownSeat(game.view)?.seat ?? null, how),
});
let fed = 0; // the version up to which events are shown or in the queue
let isFeeding = false;

/** Whether the reader may act and has little time: on turn by a clock, or before the next seat acts. */
function isUrgent() {
  const { view } = game;
  if (!ownSeat(view) || view.status !== "playing" || !view.moves.length) return false;
  return view.turn !== view.as || Boolean(view.clock && view.deadline && Date.parse(view.deadline) - now() < HURRY);
}

/** Show the newest view, at once or event by event. */
function advance() {
  const isLong = game.view.version - fed > MOST && !isFeeding;
  if (PACES[pace()] === 0 || document.hidden || isLong || isUrgent()) catchUp();
  else feed();
}

function catchUp() {
  fed = game.view.version;
  queue.flush();
  if (game.shown === game.view) return;
  game.shown = game.view;
  render();
}

/** Fetch the views between the last one in the queue and the newest. */
async function feed() {
  if (isFeeding) return;
  isFeeding = true;
  try {
    while (fed < game.view.version) {
      const { id, as, version, seats } = game.view;
      const since = performance.now();
      const path = `/v1/games/${id}/replay?as=${as}&from=${fed + 1}&to=${version}`;
      /** @type {{items: Api["Frame"][]}} */
      const { items } = await call("GET", path, { signal: leaving.signal, timeout: 1500 });
      if (id !== game.view.id) return;
      const fresh = items.filter((one) => one.version > fed);
      fed = Math.max(fed, version);
      for (const { event } of fresh) game.events[event.seq] ??= event;
      const named = (/** @type {Api["GameView"]} */ view) => ({ ...view, seats: view.seats.map((seat, n) => ({ ...seat, name: seats[n].name })) });
      queue.push(fresh.map(({ event, view }) => ({ event, view: named(view) })), since);
    }
  } catch {
    catchUp(); // this copy of the server may lack the newest events
  } finally {
    isFeeding = false;
  }
}

/** The state of the page with the moment that is drawn. */
const pictured = () => {
  const moment = viewModel(game.view, game.shown);
  return { ...game, ...moment, choice: moment.isBehind ? noChoice() : game.choice };
};

/**
 * Remove what belongs to an earlier turn of the reader, which another tab or the clock may have ended: the
 * choice and the reason of a refusal. A player who tried to act too early reads the reason until the turn comes.
 *
 * @param {Api["GameView"]} view the next one
 */
function forget(view) {
  const past = game.view.turn === view.as;
  if (past) game.choice = noChoice();
  if ((past || view.turn === view.as) && ![409, 412].includes(game.refusal?.status ?? 0)) game.refusal = null;
}

/** After the seal: store the receipt, compare the log with the receipts, and wait for the next hand. @param {AbortSignal} signal */
async function finish(signal) {
  if (ownSeat(game.view)) await fetchReceipt(game.view.id).catch(report);
  await chain.compare();
  const end = game.events.find(({ type }) => type === "game_aborted");
  if (end?.type === "game_aborted" && end.data.cause === "operator") game.restored ??= await restoreBetween(game.events[0].at, end.at);
  const people = game.view.seats.filter((seat) => seat.kind === "human").length;
  if (ownSeat(game.view) && people > 1 && !game.restored && !game.warnings.length) askToSave(); // it would cover them
  game.table = await get(`/v1/tables/${game.view.table}`, { signal });
  render();
  await nextHand(signal);
}

/** @param {AbortSignal} signal */
async function nextHand(signal) {
  while (!signal.aborted) {
    const { version, game: next } = game.table;
    if (next && next !== game.view?.id) return openGame(next);
    const poll = new AbortController(); // ended with the network: else the loss would be noticed only after its time
    const stop = () => poll.abort();
    addEventListener("offline", stop);
    signal.addEventListener("abort", stop);
    try {
      if (document.hidden) await idle(HIDDEN_POLL, signal); // a long poll would hold one of the browser's few connections
      const wait = document.hidden || !game.connected ? 0 : 25; // an answer at once shows that the connection is back
      game.table = await call("GET", `/v1/tables/${game.table.id}?after=${version}&wait=${wait}`, { signal: poll.signal, timeout: 40_000 });
      reached(true);
    } catch (problem) {
      if (signal.aborted) return;
      if (problem instanceof Problem && problem.status >= 400 && problem.status < 500 && problem.status !== 429) throw problem;
      reached(false);
    } finally {
      removeEventListener("offline", stop);
      signal.removeEventListener("abort", stop);
    }
    if (game.view) render();
    else {
      if (game.table.version !== version) guests = null; // an invitation may have been accepted
      waitingRoom(signal);
    }
    if (!game.connected) await idle(3000, signal);
  }
}

// ---- actions of the reader

let answered = { type: "", at: 0 }; // the last move that the server took

/** Whether a press was meant for the turn before: picking up right after a pick-up. @param {Api["Move"]} move */
const isRepeated = ({ type }) => type === "pick_up" && answered.type === type && performance.now() - answered.at < AGAIN;

/** Post a move; a refusal is shown with its rule. @param {Api["Move"]} move */
async function act(move) {
  if (game.busy || isRepeated(move)) return;
  game.busy = true;
  game.refusal = null;
  catchUp();
  guided(game.view);
  const { view } = game;
  const { id, version, status } = view;
  const slow = setTimeout(() => {
    game.waiting = true;
    render();
  }, SLOW);
  render();
  try {
    const seen = status === "playing" && move.type !== "forfeit" ? version : undefined;
    await chain.work;
    const body = await signed(move, view, chain.heads[version - 1]);
    const answer = await post(`/v1/games/${id}/moves`, body, { seen });
    storeReceipt(id, answer.receipt);
    answered = { type: move.type, at: performance.now() };
    game.choice = noChoice();
    [game.earlierMove, game.lastMove] = [game.lastMove, version];
    game.busy = false;
    take(answer.game);
    chain.compare().catch(report);
  } catch (problem) {
    refused(problem);
  } finally {
    clearTimeout(slow);
    game.busy = false;
    game.waiting = false;
    render();
  }
}

/** Show why cards cannot be played; the question is no attempt, and is not recorded. @param {string[]} cards */
async function askWhy(cards) {
  const { id } = game.view;
  try {
    const { rules, code, values, text, legal } = await get(`/v1/games/${id}/reasons?cards=${cards.join(",")}`);
    const statement = game.ruleset.statements.find((one) => one.id === rules[0]);
    if (!legal && id === game.view.id) {
      refused(await problemWith({ detail: text, code: code ?? undefined, values: values ?? undefined, rule: rules[0], rule_text: statement?.text }, 422));
    }
  } catch (problem) {
    refused(problem);
  }
  render();
}

/** @param {unknown} problem */
function refused(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 401 && identity()) return location.reload(); // the token was replaced in another browser
  game.refusal = problem;
  announce([problem.message, problem.body.rule_text].filter(Boolean).join(" "), { urgent: true });
  if (problem.status === 0 || problem.status === 412 || problem.status === 409) refresh();
}

let contributing = false;
/** Send this seat's entropy for the shuffle, without an action of the reader. */
act.entropy = async () => {
  if (contributing || typeof game.view.as !== "number") return;
  contributing = true;
  try {
    // Each answer has the next view, so no step is repeated because of an older view.
    while (game.view.status === "shuffling") {
      const answer = await contribute(game.view);
      if (!answer) break;
      storeReceipt(game.view.id, answer.receipt);
      take(answer.game);
    }
  } catch (problem) {
    if (problem instanceof Problem && problem.status >= 400 && problem.status < 500) refresh();
    else report(problem);
  } finally {
    contributing = false;
  }
};

/** Change the table, and show the problem if the server refuses it. @param {() => Promise<unknown>} work */
async function attempt(work) {
  if (game.busy) return;
  game.busy = true;
  game.refusal = null;
  try {
    await work();
  } catch (problem) {
    refused(problem);
  } finally {
    game.busy = false;
    if (game.view) render();
  }
}

const deal = () =>
  attempt(async () => {
    const { game: next } = await post(`/v1/tables/${game.table.id}/games`);
    await openGame(next.id);
  });

/** Hold the next hand back, or let it be dealt by itself. @param {boolean} paused */
const pause = (paused) =>
  attempt(async () => {
    game.table = await post(`/v1/tables/${game.table.id}/seats/me`, { paused }, { method: "PATCH" });
  });

const giveUp = () => {
  if (confirm(t("act.forfeit.sure"))) act({ type: "forfeit" });
};

let pressed = { cards: "", version: -1, at: 0 }; // the card of the last press, for a double click

const handlers = {
  act,
  // A press belongs to the moment that was shown when it began: cards of an earlier one are not chosen.
  press: (/** @type {string[]} */ cards) => {
    if (game.busy || game.shown !== game.view) return;
    game.refusal = null;
    const { version } = game.view;
    const isSame = cards.join() === pressed.cards && version === pressed.version;
    const isDouble = isSame && performance.now() - pressed.at < DOUBLE && game.choice.cards.includes(cards[0]);
    pressed = { cards: cards.join(), version, at: performance.now() };
    if (isDouble && game.view.status === "playing") return handlers.make();
    press(game, cards, act);
    render();
  },
  blind: (/** @type {number} */ slot) => {
    if (game.shown !== game.view) return;
    game.refusal = null;
    game.choice = { ...noChoice(), blind: game.choice.blind === slot && !game.dragging ? null : slot };
    render();
  },
  make: () => {
    const move = chosenMove(game);
    if (!move || game.busy || game.shown !== game.view) return;
    if (move.type !== "play" || isListed(game.view, move.cards)) act(move);
    else if (game.view.turn === game.view.as) askWhy(move.cards);
    else render();
  },
  why: askWhy,
  skip: () => catchUp(),
  changed: () => render(),
};

// ---- rendering

const spacious = () => matchMedia("(min-width: 40rem) and (min-height: 34rem)").matches;
const low = () => matchMedia("(max-height: 33.99rem) and (min-width: 34rem)").matches;
const round = () => matchMedia("(min-width: 60rem) and (min-height: 34rem)").matches;

/** Build the parts of the page, once for each hand. */
function createPage() {
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
  listen(find("#cards"), game, handlers);
  find("#middle").addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-pile]")) showCards(t("pile.title"), game.view.pile);
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

let drawn = 0; // the version that seats and middle show
let usesKeys = false; // whether the last input was a key
let isReady = false; // whether the reader could act when the page was drawn last

function render() {
  if (!document.getElementById("felt")) return;
  isPostponed = pressing || game.dragging;
  if (isPostponed) return;
  const focused = find("#own").contains(document.activeElement);
  const view = game.shown;
  const seen = game.events.filter((event) => event.seq < view.version);
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
  replace(find("#slots"), own && !over() ? slots(pictured(), handlers) : []);
  replace(find("#hand"), own && !over() ? hand(pictured(), handlers) : []);
  find("#own").classList.toggle("turn", view.turn === view.as && own !== null);
  find("#own").setAttribute("aria-busy", String(game.busy));
  replace(find("#say"), ownStatus());
  rehide();
  const [before, moment] = [isReady, pictured()];
  isReady = moment.isMine || over() || (own !== null && view.status === "swapping" && !own.ready && !moment.isBehind);
  const isLost = document.activeElement === document.body || (focused && !find("#own").contains(document.activeElement));
  if ((focused && isLost) || (usesKeys && isReady && !before && (isLost || focused))) refocus();
  fitHand();
  showLog();
  showNotices();
  tick();
  announceEvents(seen);
}

/** What happened last, in words. @param {Api["Event"][]} events */
const lineOf = (events) => marked(lastAction(events, voice()), game.view.seats.map(seatName));

/** Focus the next card after the focused element was removed, for example a played card. */
function refocus() {
  const own = find("#own");
  const next = ["button.fits", "button.main", "button[data-own]"].map((one) => own.querySelector(one)).find(Boolean);
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

const isOver = (/** @type {Api["GameView"]} */ view) => ["ended", "aborted"].includes(view.status);
const over = () => isOver(game.shown);

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
  return [
    h("p", { class: "now" }, [
      own ? h("strong", { class: "name", translate: "no" }, [seatName(own), text ? " · " : ""]) : null,
      text ? h("span", null, [text]) : null,
      h("span", { class: "clock", "data-clock": own && game.shown.turn === view.as ? "" : null }),
    ]),
    over() || !own ? null : h("p", { class: "hint", role: game.waiting ? "status" : null }, [hint(moment, failure(own.seat))]),
    refusal ? refusalBox(refusal) : null,
    h("div", { class: `buttons${over() || !own ? "" : " fixed"}` }, [
      ...(over() ? afterwards() : own || !moment.isBehind ? actions(moment, handlers) : []),
      own?.stand_in && own.out === null && !over() ? h("button", { onclick: () => attempt(() => post(`/v1/games/${view.id}/back`)) }, [t("act.back")]) : null,
      more(),
    ]),
  ];
}

/** @param {number} seat @returns {string} the sentence on the hidden card that did not fit, if that was the seat's last action */
const failure = (seat) => lastFailure(game.events.filter((event) => event.seq < game.shown.version), seat, voice());

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

/** The menu; it stays open while the page is drawn anew, until an item is chosen. */
function more() {
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
      link("more.rules", `/rules/${view.ruleset.id}`),
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
      ownSeat(view) && !over() ? item("act.forfeit", giveUp) : null,
    ]),
  ]);
  return menu;
}

/** @param {Blob} content @param {string} ending */
const save = (content, ending) => download(content, `${game.view.id}.${ending}`);

const saveReceipt = () => save(new Blob(receiptsOf(game.view.id).slice(-1), { type: "text/plain" }), "note");

/** Save the evidence; it is fetched with the token, which a plain link would not send. */
const saveEvidence = async () => save(await get(`/v1/games/${game.view.id}/evidence`, { as: "blob" }), "shx");

/** @param {string} title @param {string[]} cards */
function showCards(title, cards) {
  const dialog = h("dialog", { class: "panel", "aria-label": title }, [
    h("h2", null, [title]),
    cards.length ? spread(cards) : h("p", null, [t("no.cards")]),
    h("p", { class: "buttons" }, [h("button", { onclick: () => dialog.close() }, [t("close")])]),
  ]);
  showDialog(dialog);
}

/** How the hand ended, in the middle of the table. */
function result() {
  const { view } = game;
  const event = game.events.filter((one) => one.type === "game_aborted")[0];
  const heading = view.result ? resultText(view.result, voice()) : event ? caption(event, voice()) : t("did.game_aborted");
  return outcome(view, heading, (seat) => detail(game.events, seat), players());
}

/** The id of each seat's player. */
const players = () => game.table?.seats.map((seat) => seat.player ?? null) ?? [];

function afterwards() {
  const { view, table } = game;
  const seated = table?.as !== null && table?.as !== undefined;
  const next = table && table.status !== "closed" && (seated || table.host === identity()?.id);
  const rest = table?.seats.filter((seat) => seat.kind !== "open" && seat.seat !== table.as) ?? [];
  const gone = seated && table.status !== "between" && view.seats.some((seat) => seat.kind === "human" && seat.seat !== view.as);
  return [
    next && rest.length ? h("span", { class: "stay" }, [t("end.stay", { who: listed(rest.map(seatName)) })]) : null,
    table ? nextDeal(table, pause) : null,
    next ? h("button", { class: "main", "data-key": "next", disabled: game.busy, onclick: deal }, [t("act.next")]) : null,
    gone ? h("button", { "data-key": "again", disabled: game.busy, onclick: () => attempt(() => playAgain(table)) }, [t("invite.again")]) : null,
    ...["replay", "verify"].map((key) =>
      root.dataset[key] ? h("a", { class: `button${key === "verify" ? " besides" : ""}`, href: `${root.dataset[key]}${view.id}${key === "replay" ? location.hash : ""}` }, [t(`act.${key}`)]) : null,
    ),
    h("button", { "data-key": "share", onclick: shareHand }, [t("act.share")]),
    h("a", { class: "button besides", href: "/" }, [t("act.lobby")]),
  ];
}

async function shareHand() {
  const address = `${location.origin}/replay/${game.view.id}${location.hash}`;
  if (await share(address, document.title)) announce((find("[data-key=share]").textContent = t("wait.copied")));
}

const isBy = (/** @type {number} */ seq, /** @type {number} */ seat) =>
  game.events.some((event) => event.seq === seq && "seat" in event.data && event.data.seat === seat);

const voice = (aloud = false) => ({
  aloud,
  turned: (/** @type {number} */ seq) => game.turned.find(({ from, to, seat }) => from <= seq && seq < to && isBy(seq, seat))?.card ?? null,
  who: (/** @type {number} */ seat) => (seat === game.view.as ? t("you") : seatName(game.view.seats[seat])),
});

function showLog() {
  const shown = game.events.filter(({ seq, type }) => seq < game.shown.version && !SHUFFLING.has(type)).slice(-LOGGED).reverse();
  const fresh = ownSeat(game.view) ? game.lastMove : Infinity;
  const names = game.view.seats.map(seatName);
  const open = round() || document.querySelector("#log details")?.hasAttribute("open");
  replace(
    find("#log"),
    h("details", { open: open || null }, [
      h("summary", { "data-key": "log" }, [t("table.log")]),
      h("ol", { reversed: "", tabindex: 0, "aria-label": t("table.log"), "data-key": "captions" }, shown.map((event) =>
        h("li", { class: event.seq >= fresh ? "fresh" : "", value: event.seq }, marked(caption(event, voice()), names)),
      )),
    ]),
  );
}

function showNotices() {
  const place = find("#notices");
  replace(
    place,
    ...[restored(), game.unchecked].filter(Boolean).map((text) => h("p", { class: "notice", role: "status" }, [text])),
    ...[game.trouble, ...game.warnings].filter(Boolean).map((text) => h("p", { class: "notice warning", role: "alert" }, [text])),
  );
  // The table below is as much lower: its actions stay in the window.
  root.style.setProperty("--notices", place.firstChild ? `${place.offsetHeight}px` : "0px");
}

/** What a restore means for this hand, in words; "" without one. */
function restored() {
  if (!game.restored) return "";
  const [at, since] = [game.restored.at, game.restored.since].map((one) => moment(one));
  return [t("warn.restored", { at, since }), game.view.status === "aborted" ? t("warn.restored.ended") : ""].join(" ");
}

/** Note whether the table is followed. @param {boolean} isUp */
function reached(isUp) {
  game.connected = isUp;
  connected("table", isUp);
}

const showConnection = () => document.getElementById("notices") && showNotices();

/** Show that the log contradicts data of this browser, or that the browser cannot make a check. @param {{kind: string, seq: number}} fault */
function warn({ kind, seq }) {
  const text = t(`warn.${kind}`, { n: seq });
  if (kind === "no_ed25519") game.unchecked = text;
  else if (kind === "chain" || kind === "receipt") contradicted(text, seq).catch(report);
  else game.warnings.push(text);
  showConnection();
}

/** @param {any} problem */
function report(problem) {
  if (leaving.signal.aborted || problem?.name === "AbortError") return;
  if (problem?.status === 401 && identity()) return location.reload();
  if (document.getElementById("notices")) {
    game.trouble = problem.message;
    showNotices();
  }
  else replace(root, problemState(problem, root.dataset.game ? "hand" : "table"));
}

/** Announce new events, with sound and title. @param {Api["Event"][]} seen the events until the pictured view */
function announceEvents(seen) {
  const view = game.shown;
  const mine = view.turn === view.as && Boolean(ownSeat(view));
  const isMarked = document.title.startsWith("●");
  document.title = `${mine ? "● " : ""}${t("table.title", { ruleset: game.ruleset.name, n: view.hand })}`;
  const fresh = seen.filter((event) => event.seq >= game.announced);
  if (!fresh.length) return;
  game.announced = view.version;
  const quiet = new Set(["deck_committed", "entropy_committed", "entropy_revealed", "cards_drawn"]);
  const spoken = fresh.filter((event) => !quiet.has(event.type)).map((event) => caption(event, voice(true)));
  announce([...spoken.slice(-6), over() || queue.isBehind() ? "" : situation(pictured())].filter(Boolean).join(". "));
  sound(fresh, mine && !isMarked);
}

/** Show the time left. */
function tick() {
  for (const place of document.querySelectorAll("[data-next]")) if (game.table?.next_deal_at) place.textContent = nextText(game.table);
  const deadline = game.view?.deadline;
  const left = deadline ? Math.max(0, Math.round((Date.parse(deadline) - now()) / 1000)) : null;
  if (game.view && game.shown !== game.view && isUrgent()) catchUp();
  const text = left === null || !game.view.clock || game.shown !== game.view ? "" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  for (const clock of document.querySelectorAll("[data-clock]")) {
    clock.textContent = text;
    clock.classList.toggle("short", left !== null && left <= 10);
  }
}

// ---- before the first hand

/** What the host sees of invitations; null until it is fetched. @type {import("./company.js").Guests | null} */
let guests = null;

/** @param {AbortSignal} signal */
function waitingRoom(signal) {
  const { table } = game;
  const seated = table.as !== null;
  const open = table.seats.filter((seat) => seat.kind === "open").length;
  const sit = () =>
    attempt(async () => {
      await ensurePlayer();
      const invite = new URLSearchParams(location.hash.slice(1)).get("invite");
      game.table = await post(`/v1/tables/${table.id}/seats`, { seat: null, entropy: entropyMode(), ...(await seatKey()), ...(invite ? { invite } : {}) });
      if (game.table.game) await openGame(game.table.game);
      else waitingRoom(signal);
    });
  const leave = () =>
    attempt(async () => {
      await post(`/v1/tables/${table.id}/seats/me`, undefined, { method: "DELETE" });
      location.assign("/");
    });
  const address = h("input", { readonly: "", value: location.href, "aria-label": t("wait.address"), onfocus: () => address.select() });
  const copy = async () => {
    address.select();
    // Without a secure context navigator.clipboard is undefined, and only execCommand can copy.
    await (navigator.clipboard?.writeText(address.value) ?? document.execCommand("copy"));
    announce(copied.textContent = t("wait.copied"));
  };
  const copied = h("span", { class: "quiet" });
  const hosts = open > 0 && table.host === identity()?.id;
  const showGuests = async () => {
    guests = await guestsOf(table);
    if (!game.view && !signal.aborted) waitingRoom(signal);
  };
  if (hosts && !guests) showGuests().catch(report);
  root.className = "waiting";
  const title = t("wait.title", { ruleset: game.ruleset.name });
  document.title = `Shithead: ${title}`;
  replace(
    root,
    h("h1", null, [title]),
    h("p", { role: "status" }, [open ? t("wait.open", { n: open }) : t("wait.full")]),
    h("ul", { class: "places" }, table.seats.map((seat) =>
      h("li", { class: seat.kind === "open" ? "quiet" : "" }, [seat.kind === "open" ? null : avatar(seat, seat.player), h("span", { translate: "no" }, [seatName(seat)]), seat.seat === table.as ? ` (${t("you")})` : ""]),
    )),
    guestLine(),
    open ? h("label", { class: "field" }, [h("span", null, [t("wait.address")]), address]) : null,
    open ? h("p", { class: "buttons" }, [h("button", { class: seated ? "main" : "", "data-key": "copy", onclick: copy }, [t("wait.copy")]), copied]) : null,
    hosts && guests ? guestList(table, guests, (work) => attempt(async () => {
      await work();
      await showGuests();
    })) : null,
    game.refusal ? h("p", { class: "fault", role: "alert", lang: game.refusal.lang }, [game.refusal.message]) : null,
    h("p", { class: "buttons" }, [
      !seated && open ? h("button", { class: "main", "data-key": "sit", onclick: sit }, [t("wait.sit")]) : null,
      seated && !open ? h("button", { class: "main", "data-key": "deal", onclick: deal }, [t("wait.deal")]) : null,
      h("a", { class: "button", href: `/rules/${game.ruleset.id}` }, [t("more.rules")]),
      h("a", { class: "button", href: "/" }, [t("act.lobby")]),
      seated ? h("button", { class: "plain", "data-key": "leave", onclick: leave }, [t("wait.leave")]) : null,
    ]),
  );
}

/** Close the menu after Escape, which returns the focus to its button, or a press outside. @param {Event} event */
function closeMenu(event) {
  const menu = document.querySelector(".more[open]");
  if (!menu || (event instanceof KeyboardEvent ? event.key !== "Escape" : menu.contains(/** @type {Node} */ (event.target)))) return;
  menu.removeAttribute("open");
  if (event instanceof KeyboardEvent) menu.querySelector("summary")?.focus();
}

/** P picks up the pile and N deals the next hand, unless the focus is in a dialog, a menu or a field. @param {KeyboardEvent} event */
function shortcut(event) {
  const within = event.target instanceof Element && event.target.closest("dialog, details, input, textarea, select");
  const key = { p: "pick_up", n: "next" }[event.key.toLowerCase()];
  if (!key || within || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = root.querySelector(`button[data-key=${key}]:enabled`);
  if (button instanceof HTMLElement) button.click();
}

/** @param {string} id */
async function openTable(id) {
  game.table = await get(`/v1/tables/${id}`);
  const newest = game.table.game ?? game.table.games[0]?.id;
  if (newest) return openGame(newest);
  game.ruleset = await get(`/v1/rulesets/${game.table.ruleset.id}`);
  const { signal } = leaving;
  waitingRoom(signal);
  return nextHand(signal);
}

addEventListener("pointerdown", () => (pressing = true), { capture: true });
addEventListener("pointerup", release, { capture: true });
addEventListener("click", () => (pressing = false), { capture: true });
addEventListener("pointercancel", release, { capture: true });
addEventListener("pointerdown", closeMenu);
addEventListener("keydown", closeMenu);
addEventListener("keydown", shortcut);
addEventListener("keydown", () => (usesKeys = true), { capture: true });
addEventListener("pointerdown", () => (usesKeys = false), { capture: true });
addEventListener("resize", () => game.view && render());
addEventListener("pagehide", () => leaving.abort());
addEventListener("pageshow", (event) => event.persisted && location.reload());
document.addEventListener("visibilitychange", () => document.hidden && game.view && catchUp());
setInterval(tick, 500);
await start("state");
offerSettings(() => game.view && advance());
await checkPlayer();
showAccount();
followNotices();
try {
  await (root.dataset.game ? openGame(root.dataset.game) : openTable(root.dataset.table ?? ""));
} catch (problem) {
  report(problem);
}
