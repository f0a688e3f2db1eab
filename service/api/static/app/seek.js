/**
 * The tile of the lobby that seeks a table with anybody: who waits, its form, the wait, and the way to the table.
 *
 * The page renews its seeks while it is open, and withdraws them on leaving: no other page would take the player to
 * the table. A reload posts them again. All tabs of a browser wait for the same seeks.
 */

import { Problem, call, get, idle, identity, pause, post, spread } from "./api.js";
import { asClock } from "./clock.js";
import { find, h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { ensurePlayer } from "./player.js";
import { entropyMode } from "./record.js";
import { dotsOf, row } from "./rows.js";
import { seatKey } from "./signing.js";

const FIRST = "leeds"; // the preferred one of any rules
const MOST = 6; // players that the tile offers
const BOTS_AFTER = 60; // seconds
/**
 * Clocks by their names: seconds a turn, for the exchange, and in reserve. `usual` is that of a seek without a choice.
 * @type {Record<string, [number, number, number] | null>}
 */
const CLOCKS = { none: null, quick: [20, 60, 60], usual: [60, 120, 180], unhurried: [180, 300, 900], day: [86_400, 86_400, 0] };

/** A clock by its name, as a body has it. @param {string} name */
export function clockOf(name) {
  const seconds = CLOCKS[name];
  return seconds && { turn_seconds: seconds[0], swap_seconds: seconds[1], reserve_seconds: seconds[2] };
}

/** A clock of others in words: by its name if it is one of ours. @param {Api["Seek"]["clock"]} clock */
function clockInWords(clock) {
  if (!clock) return t("clock.without");
  const { turn_seconds: turn, swap_seconds: swap, reserve_seconds: reserve } = clock;
  const named = Object.keys(CLOCKS).find((name) => CLOCKS[name]?.join() === [turn, swap, reserve].join());
  return named ? t(`clock.${named}`) : t("clock.other", { turn: asClock(turn), reserve: asClock(reserve) });
}

const RENEW = 10_000; // milliseconds; a notice ends the wait at once. The server matches seeks of the last 30 s
const FOUND = 3; // offers of others that the tile shows
const TABS = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("shithead.seek");

const rules = find("#seek-rules");
const seats = find("#seek-seats");

/** @typedef {Api["SeekRequest"]} Wanted */
/** @typedef {Pick<Api["Seek"], "rulesets" | "seats" | "clock" | "entropy">} Conditions */

/** The chosen rulesets that so many players can play, the preferred one first. @param {number} players */
function rulesets(players) {
  const [any, ...all] = [...rules.options];
  const chosen = any.selected ? all : [...rules.selectedOptions];
  return chosen
    .filter(({ dataset }) => Number(dataset.min) <= players && players <= Number(dataset.max))
    .map(({ value }) => value)
    .sort((a, b) => Number(b === FIRST) - Number(a === FIRST));
}

/** Offer the numbers of players of the chosen rules. */
function offerSeats() {
  const [low, high] = ["min", "max"].map((name) => Number(rules.selectedOptions[0].dataset[name]));
  const value = Number(seats.value);
  const numbers = Array.from({ length: Math.min(high, Math.max(low, MOST)) - low + 1 }, (_, n) => low + n);
  const few = numbers.includes(2) && numbers.includes(3) ? [new Option(t("seek.few"), "")] : [];
  seats.replaceChildren(...few, ...numbers.map((n) => new Option(t("seek.seats", { n }), String(n))));
  if (numbers.includes(value)) seats.value = String(value);
}

/** The seeks that the tile shows; a wait for others ends. @type {Api["Seek"][]} */
let shown = [];
/** What this page posted, and posts again if another tab withdrew it on leaving. @type {Wanted[]} */
let posted = [];

const nameOf = (/** @type {string[]} */ ids) => (ids.length > 1 ? t("seek.any") : ([...rules.options].find(({ value }) => value === ids[0])?.text ?? ids[0]));

/** Show the form, or the wait for the players of some seeks. @param {Api["Seek"][]} seeks */
function show(seeks) {
  shown = seeks;
  find("#seek-form").hidden = seeks.length > 0;
  find("#seek-wait").hidden = !seeks.length;
  const [first, ...more] = seeks;
  if (!first) return;
  find("#seek-what").textContent = t("seek.waiting", { rules: nameOf(first.rulesets), who: more.length ? t("seek.few") : t("seek.seats", { n: first.seats }) });
  find("#seek-then").textContent = t(seeks.some((one) => one.fill_with_bots_after !== null) ? "seek.bots" : "seek.people");
}

/** Whether the players of two seeks can sit at one table. @param {Conditions} one @param {Conditions} other */
const agree = (one, other) =>
  one.seats === other.seats && one.entropy === other.entropy && JSON.stringify(one.clock) === JSON.stringify(other.clock) && one.rulesets.some((id) => other.rulesets.includes(id));

/** @type {("stays" | "mixed" | "leaves")[]} */
const STANDINGS = ["stays", "mixed", "leaves"];

/** How many of those who wait may sit beside the player of a seek, who is one of them. @param {Api["Waiting"]} one @param {Api["Seek"]} mine */
function beside(one, mine) {
  const isOwn = one.only_stayers === mine.only_stayers;
  const stays = mine.standing === "stays";
  if (mine.only_stayers) return one.only_stayers && !stays ? Number(isOwn) : one.standings.stays + Number(isOwn && !stays);
  return one.only_stayers && !stays ? 0 : one.players;
}

/** Show how many players wait: for the seeks of this page, else the offers of others. */
export async function showSeekers() {
  const { open } = await get("/v1/seeks");
  const count = (/** @type {Api["Seek"]} */ mine) => Math.min(mine.seats, open.filter((one) => agree(one, mine)).reduce((sum, one) => sum + beside(one, mine), 0));
  const counts = shown.map((seek) => ({ k: count(seek), n: seek.seats })).sort((a, b) => b.k / b.n - a.k / a.n);
  const fills = shown.find((one) => one.fill_with_bots_after !== null);
  const until = fills && new Date(Date.parse(fills.created_at) + Number(fills.fill_with_bots_after) * 1000).toISOString();
  replace(find("#seek-count"), counts.length ? t("seek.count", counts[0]) : "", ...(until ? [t("seek.bots.in"), h("span", { "data-until": until })] : []));
  const others = shown.length ? [] : open.slice(0, FOUND);
  replace(find("#seek-others"), ...others.map((one) => {
    const { players: _players, standings, ...conditions } = one;
    const who = STANDINGS.filter((name) => standings[name]).map((name) => t(`standing.${name}`, { n: standings[name] })).join(", ");
    const detail = [t("seek.count", { k: one.players, n: one.seats }), clockInWords(one.clock), who, one.only_stayers ? t("seek.only") : ""];
    return row(
      { title: nameOf(one.rulesets), detail: detail.filter(Boolean).join(" · "), dots: dotsOf(one.players, one.seats) },
      h("button", { "data-key": `seek ${JSON.stringify(conditions)}`, onclick: () => join(conditions).catch(complain) }, [t("seek.join")]),
    );
  }));
}

/** @param {unknown} problem */
function complain(problem) {
  if (!(problem instanceof Problem)) throw problem;
  find("#seek-over").textContent = problem.message;
}

/** Post the same seek as others. @param {Conditions} conditions */
async function join(conditions) {
  await ensurePlayer();
  await offer([{ ...conditions, ...(await seatKey()), fill_with_bots_after: null }]);
}

/** Wait until one of some seeks is matched, and go to its table. @param {Api["Seek"][]} seeks */
async function wait(seeks) {
  show(seeks);
  await showSeekers().catch(() => {});
  for (;;) {
    await idle(spread(RENEW));
    if (shown !== seeks) return;
    const now = await Promise.all(seeks.map(renewed));
    const table = now.find((one) => one?.table)?.table;
    if (table) return goTo(table);
    if (shown !== seeks) return;
    const open = now.filter((one) => one?.status === "open");
    if (!open.length) return end(now.some((one) => one?.status === "expired") ? "seek.expired" : "");
    await showSeekers().catch(() => {});
  }
}

/** @param {Api["Seek"]} seek @returns {Promise<Api["Seek"] | null>} null if it is unknown: the player is another one now */
async function renewed(seek) {
  try {
    return await post(`/v1/seeks/${seek.id}/renew`);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    return problem.status === 404 || problem.status === 401 ? null : (problem.body.seek ?? seek);
  }
}

/** @param {string} id of a table */
async function goTo(id) {
  shown = [];
  const { game } = await get(`/v1/tables/${id}`);
  location.assign(game ? `/play/${game}` : `/tables/${id}`);
}

/** Seek a table with the choices of the form: of two or three players, two seeks, of which the match of one ends the other. */
export async function seek() {
  find("#seek-over").textContent = "";
  await ensurePlayer();
  const key = await seatKey();
  const numbers = seats.value ? [Number(seats.value)] : [3, 2];
  await offer(numbers.map((n, at) => ({
    rulesets: rulesets(n),
    seats: n,
    clock: clockOf(find("#seek-clock").value),
    entropy: entropyMode(),
    only_stayers: find("#seek-stayers").checked,
    ...key,
    fill_with_bots_after: find("#seek-bots").checked && at === 0 ? BOTS_AFTER : null,
  })));
}

/** Post seeks in place of those of this browser, and wait for a table. @param {Wanted[]} wanted */
async function offer(wanted) {
  const before = await openSeeks();
  history.replaceState({ seek: wanted }, ""); // which a reload repeats
  posted = wanted;
  const seeks = [];
  for (const one of wanted) seeks.push(await post("/v1/seeks", one));
  for (const { id, keep } of before) if (!keep && !seeks.some((one) => one.id === id)) await call("DELETE", `/v1/seeks/${id}`, {}).catch(() => {});
  TABS?.postMessage({ seeks, wanted });
  wait(seeks);
}

if (TABS) {
  TABS.onmessage = async ({ data }) => {
    if (data.left) {
      if (!shown.length || !posted.length) return;
      await pause(1000); // the other tab has withdrawn the seeks then
      if (shown.length) offer(posted).catch(() => {});
      return;
    }
    if (!data.seeks.length) return end();
    posted = data.wanted;
    wait(data.seeks);
  };
}

addEventListener("pagehide", () => {
  if (!shown.length || !history.state?.seek) return;
  for (const { id } of shown) call("DELETE", `/v1/seeks/${id}`, {}).catch(() => {});
  TABS?.postMessage({ left: true });
});

/** Withdraw the seeks of this player, and go to the table of one that was matched before. */
export async function withdraw() {
  for (const { id } of await openSeeks()) {
    try {
      await call("DELETE", `/v1/seeks/${id}`, {});
    } catch (problem) {
      if (!(problem instanceof Problem && problem.body.seek)) throw problem;
      if (problem.body.seek.table) return goTo(problem.body.seek.table);
    }
  }
  TABS?.postMessage({ seeks: [] });
  end();
}

/** Show the form again. @param {string} [key] of a text that says why */
function end(key = "") {
  history.replaceState(null, "");
  posted = [];
  show([]);
  find("#seek-over").textContent = key ? t(key) : "";
  showSeekers().catch(() => {});
}

async function openSeeks() {
  return identity() ? (await get("/v1/seeks")).mine.filter(({ status }) => status === "open") : [];
}

/** Fill the form, and continue the wait that an earlier page began. */
export async function offerSeek() {
  rules.addEventListener("change", offerSeats);
  offerSeats();
  const again = history.state?.seek;
  history.replaceState(null, "");
  const [visit] = performance.getEntriesByType("navigation");
  if (again && visit instanceof PerformanceNavigationTiming && visit.type === "reload") return offer(again);
  const open = await openSeeks();
  if (open.length) wait(open);
  else await showSeekers();
}
