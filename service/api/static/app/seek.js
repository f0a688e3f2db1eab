/**
 * The tile of the lobby that seeks a table with anybody: its form, the wait, and the way to the table.
 *
 * The page renews the seek while it is open, and withdraws it on leaving: nobody else would take the player to
 * the table. A reload posts it again.
 */

import { Problem, call, get, idle, identity, post } from "./api.js";
import { find } from "./dom.js";
import { t } from "./i18n.js";
import { ensurePlayer } from "./player.js";
import { entropyMode } from "./record.js";
import { seatKey } from "./signing.js";

const FIRST = "leeds"; // the preferred one of any rules
const MOST = 6; // players that the tile offers
const BOTS_AFTER = 60; // seconds
/**
 * Clocks by their names: seconds a turn, and for the exchange. `usual` is that of a seek without a choice.
 * @type {Record<string, [number, number] | null>}
 */
const CLOCKS = { none: null, quick: [20, 60], usual: [60, 120], day: [86_400, 86_400] };

/** A clock by its name, as a body has it. @param {string} name */
export function clockOf(name) {
  const seconds = CLOCKS[name];
  return seconds && { turn_seconds: seconds[0], swap_seconds: seconds[1] };
}

const RENEW = 20_000; // milliseconds; a notice ends the wait at once

const rules = find("#seek-rules");
const seats = find("#seek-seats");

/** The chosen rulesets that so many players can play, the preferred one first. */
function rulesets() {
  const [any, ...all] = [...rules.options];
  const chosen = any.selected ? all : [...rules.selectedOptions];
  return chosen
    .filter(({ dataset }) => Number(dataset.min) <= Number(seats.value) && Number(seats.value) <= Number(dataset.max))
    .map(({ value }) => value)
    .sort((a, b) => Number(b === FIRST) - Number(a === FIRST));
}

/** Offer the numbers of players of the chosen rules. */
function offerSeats() {
  const [low, high] = ["min", "max"].map((name) => Number(rules.selectedOptions[0].dataset[name]));
  const value = Math.min(high, Math.max(low, Number(seats.value || 3)));
  const numbers = Array.from({ length: Math.min(high, Math.max(low, MOST)) - low + 1 }, (_, n) => low + n);
  seats.replaceChildren(...numbers.map((n) => new Option(t("seek.seats", { n }), String(n))));
  seats.value = String(value);
}

/** The id of the seek that the tile shows; a wait for another one ends. @type {string | null} */
let shown = null;

/** Show the form, or the wait for the players of a seek. @param {Api["Seek"] | null} seek */
function show(seek) {
  shown = seek?.id ?? null;
  find("#seek-form").hidden = Boolean(seek);
  find("#seek-wait").hidden = !seek;
  if (!seek) return;
  const [name, ...others] = seek.rulesets.map((id) => [...rules.options].find(({ value }) => value === id)?.text ?? id);
  find("#seek-what").textContent = t("seek.waiting", { rules: others.length ? t("seek.any") : name, n: seek.seats });
  find("#seek-then").textContent = t(seek.fill_with_bots_after === null ? "seek.people" : "seek.bots");
}

/** Wait until a seek is over, and go to its table. @param {Api["Seek"]} seek */
async function wait(seek) {
  show(seek);
  while (seek.status === "open") {
    await idle(RENEW);
    if (shown !== seek.id) return;
    try {
      seek = await post(`/v1/seeks/${seek.id}/renew`);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status === 404 || problem.status === 401) break; // its player is another one now
      seek = problem.body.seek ?? seek; // it is over
    }
  }
  if (seek.table) return goTo(seek.table);
  if (shown !== seek.id) return;
  end();
  find("#seek-over").textContent = seek.status === "expired" ? t("seek.expired") : "";
}

/** @param {string} id of a table */
async function goTo(id) {
  shown = null;
  const { game } = await get(`/v1/tables/${id}`);
  location.assign(game ? `/play/${game}` : `/tables/${id}`);
}

/** Seek a table with the choices of the form. */
export async function seek() {
  find("#seek-over").textContent = "";
  await ensurePlayer();
  await offer({
    rulesets: rulesets(),
    seats: Number(seats.value),
    clock: clockOf(find("#seek-clock").value),
    entropy: entropyMode(),
    ...(await seatKey()),
    fill_with_bots_after: find("#seek-bots").checked ? BOTS_AFTER : null,
  });
}

/** Post a seek, and wait for its table. @param {Api["SeekRequest"]} wanted */
async function offer(wanted) {
  history.replaceState({ seek: wanted }, ""); // which a reload repeats
  wait(await post("/v1/seeks", wanted));
}

addEventListener("pagehide", () => {
  if (shown && history.state?.seek) call("DELETE", `/v1/seeks/${shown}`, {}).catch(() => {});
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
  end();
}

/** Show the form again. */
function end() {
  history.replaceState(null, "");
  show(null);
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
  const [open] = await openSeeks();
  if (open) wait(open);
}
