/** The page of statistics: shuffles, blind choices, and the hands of a player. */

import { Problem, get, identity } from "./api.js";
import { resultText, seatName } from "./captions.js";
import { find, h, replace } from "./dom.js";
import { language, moment, start, t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { checkPlayer, showAccount } from "./player.js";
import { numbers, logScale, ranges } from "./plots.js";
import { setTitle } from "./title.js";

const HANDS = 200; // the newest hands that are counted
const SHOWN = 10; // hands that are listed
const DEVIATIONS = 2.576; // standard deviations of the 99 % interval of the normal distribution
/** @type {Record<string, string>} */
const FIGURES = {
  "position of each card": "position",
  "ranks dealt to people": "dealt",
  "first cards of aborted games against finished ones": "aborted",
};

const player = new URLSearchParams(location.search).get("player") ?? (identity() ? "me" : null);
const number = (/** @type {number} */ value, digits = 1) =>
  new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
const quiet = (/** @type {string} */ text) => h("p", { class: "quiet" }, [text]);

/** Fill a section; if the server refuses, the section shows the problem. @param {string} selector @param {() => Promise<any[]>} work */
async function fill(selector, work) {
  try {
    replace(find(selector), ...(await work()));
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const isUnknown = problem.status === 404 && player !== "me";
    replace(find(selector), isUnknown ? h("p", { class: "notice" }, [t("hands.unknown")]) : h("p", { class: "notice", lang: problem.lang }, [problem.message]), isUnknown ? h("p", null, [h("a", { href: "/statistics" }, [t("hands.own")])]) : null);
  }
}

/** A plot of invented values, marked as such, where there are none yet. @param {Element} plot */
const sample = (plot) => h("figure", { class: "sample" }, [plot, h("figcaption", null, [t("sample")])]);
const play = () => h("p", null, [h("a", { class: "button main", href: "/" }, [t("stats.play")])]);

const figure = (/** @type {string} */ name) => (FIGURES[name] ? t(`measure.${FIGURES[name]}`) : name);

/** @typedef {Api["Measure"] & {p: number}} Measured a figure with enough hands to be judged */

/** The names of the rulesets by id. @type {Promise<Map<string, string>>} */
const names = get("/v1/rulesets?limit=200").then(({ items }) => new Map(items.map((one) => [one.id, one.name])));
names.catch(() => {}); // each section reports it

async function shuffles() {
  const [{ n, measures }, named] = await Promise.all([get("/v1/statistics/shuffles"), names]);
  const rules = (/** @type {string} */ id) => named.get(id) ?? id;
  const judged = /** @type {Measured[]} */ (measures.filter((one) => one.p !== null));
  const outside = judged.filter((one) => one.statistic < one.low || one.statistic > one.high).length;
  const words = t("shuffles.words", { n: judged.length, inside: judged.length - outside });
  const note = (/** @type {Measured} */ one) => t("shuffles.note", { n: number(one.n), share: one.p < 0.001 ? `< ${number(0.1)}` : number(100 * one.p) });
  return [
    h("p", null, [t("shuffles.count", { n })]),
    judged.length ? null : sample(ranges([["in", 0.5], ["out", 1.4]].map(([key, value]) => ({ label: t("measure.position"), low: 0, high: 1, value: Number(value), note: t(`sample.${key}`) })), t("sample.words"))),
    judged.length
      ? ranges(judged.map((one) => ({ label: `${rules(one.ruleset)}: ${figure(one.name)}`, low: one.low, high: one.high, value: one.statistic, note: note(one) })), words)
      : quiet(t("shuffles.few")),
    judged.length ? h("p", null, [words]) : null,
    judged.length ? h("p", null, [t("shuffles.meaning")]) : null,
    measures.length ? numbers(t("numbers"), ["ruleset", "figure", "n", "statistic", "low", "high", "p"].map((key) => t(`column.${key}`)),
      measures.map((one) => [h("span", { lang: "en" }, [rules(one.ruleset)]), figure(one.name), one.n, number(one.statistic), number(one.low), number(one.high), one.p === null ? "–" : number(one.p, 6)]), t("about.p")) : null,
    quiet(t("about.shuffles")),
  ];
}

async function choices() {
  const counts = h("p", null, [t("choices.counts")]);
  const shown = sample(logScale(0.3, 1000, t("sample.value")));
  if (!identity()) return [quiet(t("choices.nobody")), play(), counts, shown];
  const found = await get(`/v1/statistics/blind-choices?player=${player}`);
  const key = found.e_value >= found.threshold ? "choices.over" : "choices.under";
  if (!found.n) return [h("p", null, [h("strong", null, [t("choices.none")])]), counts, shown];
  const words = t(key, { n: found.n, value: number(found.e_value, 3), limit: number(found.threshold) });
  return [
    logScale(found.e_value, found.threshold, words),
    h("p", null, [h("strong", null, [words])]),
    counts,
    h("p", null, [t("choices.meaning", { alarm: number(1 / found.false_alarm, 0) })]),
    quiet(t("about.choices")),
  ];
}

/** @typedef {Api["GameItem"] & {result: Api["Result"]}} Finished */
/** @typedef {Api["GameItem"] & {result: {shithead: number}}} Ended a hand with a shithead */

/**
 * Return how often a player is the shithead by chance alone: the mean, and its 99 % interval.
 *
 * Each hand counts 1/n for its n seats; the interval is that of the normal distribution with the
 * same variance.
 *
 * @param {Ended[]} games
 */
function expected(games) {
  const shares = games.map((game) => 1 / game.seats.length);
  const mean = shares.reduce((sum, share) => sum + share, 0);
  const deviation = Math.sqrt(shares.reduce((sum, share) => sum + share * (1 - share), 0));
  return { mean, low: Math.max(0, mean - DEVIATIONS * deviation), high: mean + DEVIATIONS * deviation };
}

/** @returns {Promise<Finished[]>} */
async function newest() {
  const { items } = await get(`/v1/games?player=${player}&limit=${HANDS}`);
  return /** @type {Finished[]} */ (items.filter((game) => game.result));
}

async function hands() {
  const shown = sample(ranges([{ label: t("hands.label"), low: 0, high: 1, value: 0.6, note: t("sample.in") }], t("sample.words")));
  if (!player) return [quiet(t("hands.nobody")), play(), shown];
  /** @type {[Api["Player"] & {tables?: string[]}, Finished[], Map<string, string>]} */
  const [profile, games, named] = await Promise.all([get(`/v1/players/${player}`), newest(), names]);
  const ended = /** @type {Ended[]} */ (games.filter((game) => game.result.shithead !== null));
  const last = ended.filter((game) => game.seats[game.result.shithead].player === profile.id).length;
  const { mean, low, high } = expected(ended);
  const words = t("hands.words", { n: ended.length, last, mean: number(mean), low: number(low), high: number(high) });
  const { made, upheld } = profile.accusations;
  return [
    h("p", null, [h("strong", null, [profile.name ?? t("hands.erased")]), ` · ${t("hands.tally", { n: profile.games, last: profile.shithead })}`]),
    profile.cad ? h("p", { class: "notice warning" }, [t("hands.cad")]) : null,
    made ? quiet(t("hands.accusations", { made, upheld })) : null,
    ended.length ? ranges([{ label: t("hands.label"), low, high, value: last, note: `${last} / ${ended.length}` }], words) : null,
    ended.length ? null : shown,
    h("p", null, [ended.length ? words : t("hands.none")]),
    h("p", null, [h("strong", null, [t("bag.title")]), ` ${await bags(profile)}`]),
    games.length ? h("ul", { class: "rows" }, games.slice(0, SHOWN).map((game) => row(game, named))) : null,
  ];
}

/** A sentence on the number of tables at which the player wears the paper bag. @param {{tables?: string[]}} profile with tables only for the player */
async function bags(profile) {
  if (!profile.tables) return t("bag.unknown");
  const { items } = await get("/v1/tables?mine=true&limit=200");
  const worn = items.filter((table) => table.status !== "closed" && table.as !== null && table.seats[table.as].bag);
  return worn.length ? t("bag.worn", { n: worn.length }) : t("bag.none");
}

/** @param {Finished} game @param {Map<string, string>} names of the rulesets */
function row(game, names) {
  const { id } = game.ruleset;
  return h("li", { class: "row" }, [
    h("span", { class: "what" }, [
      h("strong", null, [resultText(game.result, { who: (seat) => seatName(game.seats[seat]) })]),
      h("span", { class: "quiet" }, [`${names.get(id) ?? id} · ${moment(game.created_at)}`]),
    ]),
    h("span", { class: "buttons" }, [
      h("a", { class: "button", href: `/replay/${game.id}` }, [t("act.replay")]),
      h("a", { class: "button", href: `/verify?game=${game.id}` }, [t("act.verify")]),
    ]),
  ]);
}

await start("court");
offerMenu();
setTitle(`Shithead: ${t("statistics.title")}`);
await checkPlayer();
showAccount();
await Promise.all([fill("#shuffles", shuffles), fill("#choices", choices), fill("#hands", hands)]);
for (const section of document.querySelectorAll(".filling")) section.classList.remove("filling"); // all at once, so nothing moves
