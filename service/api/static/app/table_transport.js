/** What the page of a table fetches and posts: hand and table, the log as it grows, moves. It draws nothing. */

import { Problem, call, get, identity, idle, isUnsure, newest, post, problemWith, spread } from "./api.js";
import { now } from "./clock.js";
import { moveInWords } from "./captions.js";
import { acted } from "./coach.js";
import { connected } from "./connection.js";
import { announce } from "./dom.js";
import { ratingsOf } from "./ending.js";
import { t } from "./i18n.js";
import { live } from "./live.js";
import { ownSeat, turnedCard } from "./moves.js";
import { showing } from "./notices.js";
import { noChoice } from "./own.js";
import { askToSave } from "./player.js";
import { receiptsOf, storeReceipt } from "./receipts.js";
import { Chain, contribute, fetchReceipt, handInLost, restoreBetween } from "./record.js";
import { signed } from "./signing.js";
import { stage, timeOf } from "./stage.js";
import { connectionShare } from "./stream.js";
import { PACES, pace, story } from "./story.js";
import { changed, game, isOver, report } from "./table_state.js";
import { heldIn } from "./viewmodel.js";

const HIDDEN_POLL = 10_000; // milliseconds between polls for the next hand while the page is hidden
const POLL = 2000; // the same while it is seen, and other windows hold all connections that last
const SLOW = 3000; // milliseconds after which the page states that it waits for the server
const HURRY = 10_000; // milliseconds before the end of the reader's time in which everything is shown at once
const RATED = 4; // people of a hand whose ratings are shown at most
const COUNTED = [2000, 4000, 10_000, 20_000]; // milliseconds between the looks whether the hand is counted in the ratings
const MOST = 100; // events behind which the page does not show one by one

/** @type {Promise<void> | null} */
let refreshing = null;
let isStale = false; // `refresh` was called after the last fetch began

/** Open a table: its newest hand, or the waiting room until the first one. @param {string} id */
export async function openTable(id) {
  game.table = await get(`/v1/tables/${id}`);
  const newest = game.table.game ?? game.table.games[0]?.id;
  if (newest) return openGame(newest);
  game.ruleset = await get(`/v1/rulesets/${game.table.ruleset.id}`);
  changed();
  return nextHand(game.left.signal);
}

/** @param {string} id @param {typeof game.restored} restored what is known to explain another log than before */
export async function openGame(id, restored = null) {
  game.left.abort();
  game.left = new AbortController();
  const { signal } = game.left;
  showing(id, game.table?.id);
  const notes = receiptsOf(id); // before the view: another tab may store one of a later version meanwhile
  const view = await get(`/v1/games/${id}`, { signal });
  showing(id, view.table);
  const [table, ruleset] = await Promise.all([
    get(`/v1/tables/${view.table}`, { signal }),
    get(`/v1/rulesets/${view.ruleset.id}`, { signal }),
  ]);
  /** @type {Chain} */
  const chain = new Chain(id, (fault) => game.chain === chain && warn(fault));
  Object.assign(game, {
    view, shown: view, table, ruleset, events: [], choice: noChoice(), refusal: null, trouble: "", warnings: [], restored,
    lastMove: 0, earlierMove: 0, turned: [], announced: view.version, ratings: { before: null, after: null },
    opened: game.opened + 1, chain,
  }); // prettier-ignore
  history.replaceState(null, "", `/play/${id}${location.hash}`);
  queue.flush();
  fed = view.version;
  changed();
  sendEntropy();
  if (ownSeat(view) && !isOver(view)) ratingsOf(people(), view.ruleset.id, signal).then((found) => (game.ratings.before = found)).catch(() => {});
  follow(id, signal).catch((problem) => (problem instanceof Problem && problem.status === 409 ? endIfLost(problem).catch(report) : report(problem)));
  if (notes.some((note) => Number(note.split("\n")[1]) > view.version)) await endIfLost();
}

/**
 * After the server showed less than before: the receipt of a move that a declared restore lost ends the hand. It is
 * shown again, also if it goes on after a restore.
 *
 * @param {Problem} [problem] shown if nothing explains it
 * @param {typeof game.restored} found the restore because of which the events of this page are others than the server's
 */
async function endIfLost(problem, found = null) {
  const { id, as } = game.view;
  const restore = found ?? (game.events[0] ? await restoreBetween(game.events[0].at) : null);
  const ended = typeof as === "number" && !isOver(game.view) && (await handInLost(id));
  if (ended || (restore && (problem || found))) await openGame(id, restore);
  else if (problem) report(problem);
}

/**
 * Show a fault of the log, unless a declared restore explains that another event stands there. Events that the restore
 * lost are then fetched again, once.
 *
 * @param {string} text @param {string} kind @param {number} seq
 */
async function contradicted(text, kind, seq) {
  const { id } = game.view;
  /** @type {{items: Api["Event"][]}} */
  const { items } = await get(`/v1/games/${id}/events?after=${seq}&limit=1`).catch(() => ({ items: [] })); // the page may have the lost one
  const first = game.events[0] ?? (await get(`/v1/games/${id}/events?limit=1`).catch(() => ({ items: [] }))).items[0]; // may not have arrived
  const begun = first?.at;
  const restore = begun && items.length ? await restoreBetween(begun, items[0].at) : null;
  if (id !== game.view.id) return;
  const isStale = kind === "chain" && restore?.at !== game.restored?.at;
  if (restore) game.restored = restore;
  else game.warnings.push(text);
  changed();
  await endIfLost(undefined, isStale ? restore : null);
}

/** @param {string} id @param {AbortSignal} signal */
async function follow(id, signal) {
  const onstate = (/** @type {boolean} */ isUp) => {
    if (isUp && !game.connected) refresh(); // an earlier fetch of the view may have failed
    reached(isUp);
  };
  for await (const { line } of live(id, 0, { signal, onstate })) {
    const event = JSON.parse(line);
    game.chain.add(line);
    game.chain.checkEntropy(event);
    game.events[event.seq] = event;
    if (event.seq >= game.view.version) refresh();
    else if (event.seq === game.shown.version - 1) changed();
    if (event.seq === game.view.version - 1) game.chain.compare(game.view).catch(report);
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
      const view = await get(`/v1/games/${id}`, { signal: game.left.signal });
      if (view.id !== game.view.id) continue;
      take(view);
      game.chain.compare(view).catch(report);
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
  changed();
  sendEntropy();
  if (game.unsure) settle().catch(report);
}

export const queue = story({
  show: ({ view }) => {
    game.shown = view.version === game.view.version ? game.view : view;
    changed();
  },
  time: timeOf,
  stage: (entry, how) => stage(entry, game.shown, ownSeat(game.view)?.seat ?? null, how),
});
let fed = 0; // the version up to which events are shown or in the queue
let isFeeding = false;

/** Whether the reader may act and has little time: on turn by a clock, or before the next seat acts. */
export function isUrgent() {
  const { view } = game;
  if (!ownSeat(view) || view.status !== "playing" || !view.moves.length) return false;
  return view.turn !== view.as || Boolean(view.clock && view.deadline && Date.parse(view.deadline) - now() < HURRY);
}

export function advance() {
  const isLong = game.view.version - fed > MOST && !isFeeding;
  if (PACES[pace()] === 0 || document.hidden || isLong || isUrgent()) catchUp();
  else feed();
}

export function catchUp() {
  fed = game.view.version;
  queue.flush();
  if (game.shown === game.view) return;
  game.shown = game.view;
  changed();
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
      const { items } = await call("GET", path, { signal: game.left.signal, timeout: 1500 });
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
  await game.chain.compare(game.view);
  const end = game.events.find(({ type }) => type === "game_aborted");
  if (end?.type === "game_aborted" && end.data.cause === "operator") game.restored ??= await restoreBetween(game.events[0].at, end.at);
  const people = game.view.seats.filter((seat) => seat.kind === "human").length;
  if (ownSeat(game.view) && people > 1 && !game.restored && !game.warnings.length) askToSave(); // it would cover them
  game.table = await get(`/v1/tables/${game.view.table}`, { signal });
  changed();
  if (ownSeat(game.view)) awaitRatings(signal).catch(() => {}); // decoration: the page of ratings shows them as well
  await nextHand(signal);
}

/** The ids of the hand's people, the reader's first; of many none, because each is a call. */
function people() {
  const ids = game.table.seats.filter(({ kind, player }) => kind === "human" && player).map(({ player }) => /** @type {string} */ (player));
  const own = identity()?.id ?? "";
  return ids.length > RATED ? [] : ids.sort((a, b) => Number(b === own) - Number(a === own));
}

/** Show the ratings once the hand is counted, which takes some seconds; a stalemate never is. @param {AbortSignal} signal */
async function awaitRatings(signal) {
  const { ruleset, id } = game.view;
  const ids = people();
  const [own] = ids;
  const known = game.ratings.before?.get(own)?.hands ?? 0;
  for (const wait of COUNTED) {
    if (signal.aborted || !own) return;
    const found = await ratingsOf([own], ruleset.id, signal);
    if ((found.get(own)?.hands ?? 0) > known) {
      const after = await ratingsOf(ids, ruleset.id, signal);
      if (id === game.view.id) game.ratings.after = after;
      return changed();
    }
    await idle(wait, signal);
  }
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
    const release = document.hidden ? null : await connectionShare();
    try {
      if (!release) await idle(document.hidden ? HIDDEN_POLL : POLL, signal);
      const wait = release && game.connected ? 25 : 0; // an answer at once shows that the connection is back
      const found = await call("GET", `/v1/tables/${game.table.id}?after=${version}&wait=${wait}`, { signal: poll.signal, timeout: 40_000 });
      if (found.version !== game.table.version) game.table = found; // else the answer is for whom the reader was before sitting down
      reached(true);
    } catch (problem) {
      if (signal.aborted) return;
      if (problem instanceof Problem && problem.status >= 400 && problem.status < 500 && problem.status !== 429) throw problem;
      reached(false);
    } finally {
      release?.();
      removeEventListener("offline", stop);
      signal.removeEventListener("abort", stop);
    }
    changed();
    if (!game.connected) await idle(spread(3000), signal);
  }
}

const ask = newest(); // why cards cannot be played; a move ends the questions before it

/** @param {Api["Move"]} move */
export async function act(move) {
  if (game.busy) return;
  game.busy = true;
  game.refusal = null;
  ask();
  catchUp();
  acted();
  const { view } = game;
  const { id, version, status } = view;
  const slow = setTimeout(() => {
    game.waiting = true;
    changed();
  }, SLOW);
  changed();
  try {
    const seen = status === "playing" && move.type !== "forfeit" ? version : undefined;
    await game.chain.work;
    const body = await signed(move, view, game.chain.heads[version - 1]);
    const answer = await post(`/v1/games/${id}/moves`, body, { seen });
    storeReceipt(id, answer.receipt);
    game.choice = noChoice();
    [game.earlierMove, game.lastMove] = [game.lastMove, version];
    game.busy = false;
    take(answer.game);
    game.chain.compare(game.view).catch(report);
  } catch (problem) {
    if (isUnsure(problem)) game.unsure = { id, version, move, view };
    refused(problem);
  } finally {
    clearTimeout(slow);
    game.busy = false;
    game.waiting = false;
    changed();
  }
}

/** Show why cards cannot be played; the question is no attempt, and is not recorded. @param {string[]} cards */
export async function askWhy(cards) {
  const { id } = game.view;
  const isNewest = ask();
  try {
    const { rules, code, values, text, legal } = await get(`/v1/games/${id}/reasons?cards=${cards.join(",")}`);
    const statement = game.ruleset.statements.find((one) => one.id === rules[0]);
    if (!legal && isNewest() && id === game.view.id) {
      refused(await problemWith({ detail: text, code: code ?? undefined, values: values ?? undefined, rule: rules[0], rule_text: statement?.text }, 422));
    }
  } catch (problem) {
    if (isNewest()) refused(problem);
  }
  changed();
}

/** @param {unknown} problem */
function refused(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 401 && identity()) return location.reload(); // the token was replaced in another browser
  game.refusal = problem;
  announce([problem.message, problem.body.rule_text].filter(Boolean).join(" "), { urgent: true });
  if (isUnsure(problem) || problem.status === 412 || problem.status === 409) refresh();
}

/** After a move without an answer, when the server answers again: state that it was not played, or nothing. */
async function settle() {
  const { id, version, move, view: then } = /** @type {NonNullable<typeof game.unsure>} */ (game.unsure);
  game.unsure = null;
  const { items } = await get(`/v1/games/${id}/events?after=${version}`, { signal: game.left.signal });
  const { view } = game;
  if (id !== view.id || game.busy) return;
  const isPlayed = items.some(({ by }) => by === view.as);
  if (isPlayed) fetchReceipt(id).catch(report);
  const isOpen = !isPlayed && (view.version === version || (view.turn === view.as && then.turn === view.as));
  game.refusal = isOpen ? new Problem({ type: "not-played", detail: t("act.unplayed", { move: moveInWords(move, then) }) }, 0) : null;
  if (game.refusal) announce(game.refusal.message, { urgent: true });
  changed();
}

let contributing = false;
async function sendEntropy() {
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
}

/** @param {() => Promise<unknown>} work */
export async function attempt(work) {
  if (game.busy) return;
  game.busy = true;
  game.refusal = null;
  try {
    await work();
  } catch (problem) {
    refused(problem);
  } finally {
    game.busy = false;
    changed();
  }
}

/** @param {string | null} [bot] takes the open seats first */
export const deal = (bot = null) =>
  attempt(async () => {
    const { game: next } = await post(`/v1/tables/${game.table.id}/games`, { fill_with: bot });
    await openGame(next.id);
  });

/** Open a private table of as many people, with the same rules; the reader invites from its waiting room. */
export const inviteFriends = () =>
  attempt(async () => {
    const seats = ["me", ...Array(Math.max(1, game.view.seats.length - 1)).fill("open")];
    const made = await post("/v1/tables", { ruleset: game.view.ruleset.id, seats, visibility: "private" });
    location.assign(`/tables/${made.id}#invite=${encodeURIComponent(made.invite ?? "")}`);
  });

/** @param {boolean} paused */
export const pause = (paused) =>
  attempt(async () => {
    game.table = await post(`/v1/tables/${game.table.id}/seats/me`, { paused }, { method: "PATCH" });
  });

/** @param {boolean} isUp */
function reached(isUp) {
  game.connected = isUp;
  connected("table", isUp);
}

/** Show that the log contradicts data of this browser, or that the browser cannot make a check. @param {{kind: string, seq: number}} fault */
function warn({ kind, seq }) {
  const text = t(`warn.${kind}`, { n: seq });
  if (kind.startsWith("no_")) game.unchecked = text;
  else if (kind === "chain" || kind === "receipt") contradicted(text, kind, seq).catch(report);
  else game.warnings.push(text);
  changed();
}
