/**
 * Positions like one of the replay: what was chosen there, beside a bot's opinion of this one.
 *
 * Both come from the service on request. Likeness is no evidence by itself, and the panel says so.
 */

import { get } from "./api.js";
import { printed, rankOf } from "./cards.js";
import { h } from "./dom.js";
import { language, t } from "./i18n.js";

const MAX_CARDS = 5; // ranks of more cards are not searched for
const SHOWN = 10;

/** @typedef {Api["Decisions"]} Decisions */
/** @typedef {{found: Decisions, opinion: Api["Decision"]["opinion"], isByNumber: boolean}} Alike */

const percent = (/** @type {number} */ share) => new Intl.NumberFormat(language, { style: "percent" }).format(share);

/** The conditions of a search: same ruleset, zone, demand and cards by rank. @param {Api["GameView"]} saw @param {number} seat */
function conditions(saw, seat) {
  const own = saw.seats[seat];
  const hand = own.hand.cards ?? [];
  const cards = hand.length ? hand : own.up.flat();
  const phase = hand.length ? "hand" : cards.length ? "up" : "down";
  const { kind, rank } = saw.demand;
  const query = new URLSearchParams({ ruleset: saw.ruleset.id, phase, demand: kind, limit: String(SHOWN) });
  if (rank) query.set("asked", rank);
  const isByNumber = cards.length > MAX_CARDS;
  if (isByNumber) query.set("held", String(hand.length));
  else if (cards.length) query.set("cards", cards.map(rankOf).join(","));
  return { query, isByNumber };
}

/** Fetch the positions like one, and the bot's opinion. @param {string} game @param {Api["Decision"]} decision @returns {Promise<Alike>} */
export async function alikeOf(game, { saw, seat, first }) {
  const { query, isByNumber } = conditions(/** @type {Api["GameView"]} */ (saw), Number(seat));
  const [found, { opinion }] = await Promise.all([get(`/v1/decisions?${query}`), get(`/v1/games/${game}/audit/moves/${first}?opinion=true`)]);
  return { found, opinion, isByNumber };
}

/** A move as decisions are counted. @param {Api["Move"]} move */
function choiceOf(move) {
  if (move.type === "play_blind") return "blind";
  return move.type === "play" ? `play ${[...new Set(move.cards.map(rankOf))].join("+")} x${move.cards.length}` : move.type;
}

/** @param {string} choice such as `play 7 x2` */
function inWords(choice) {
  const [kind, ranks, count] = choice.split(" ");
  if (kind === "play") return `${ranks.split("+").map(printed).join("+")} ${count.replace("x", "× ")}`;
  return t(kind === "pick_up" ? "act.pick_up.none" : kind === "blind" ? "alike.blind" : `act.${kind}`);
}

/** A share with its interval. @param {Api["Share"] | null} one */
const share = (one) =>
  one ? [percent(one.share), " ", h("small", { class: "quiet" }, [`${percent(one.low)}–${percent(one.high)}`])] : ["–"];

/** @param {Alike} alike @param {Api["Move"]} did */
function table({ found, opinion }, did) {
  const chances = new Map((opinion?.moves ?? []).map((one) => [choiceOf(one.move), one.chance]));
  const counted = found.choices ?? [];
  const others = [...chances.keys()].filter((choice) => !counted.some((one) => one.choice === choice));
  const head = ["choice", "share", "lost", "bot"].map((key) => h("th", { scope: "col" }, [t(`alike.${key}`)]));
  const rows = [...counted, ...others.map((choice) => ({ choice, share: null, lost: null }))].map((one) => {
    const chance = chances.get(one.choice);
    const isDone = one.choice === choiceOf(did);
    return h("tr", { class: isDone ? "done" : null }, [
      h("th", { scope: "row" }, [inWords(one.choice), isDone ? [" ", h("b", null, [t("replay.did")])] : null]),
      h("td", null, share(one.share)),
      h("td", null, share(one.lost)),
      h("td", null, [chance === undefined ? "–" : percent(chance)]),
    ]);
  });
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("alike.title") }, [h("table", { class: "alike" }, [h("thead", null, [h("tr", null, head)]), h("tbody", null, rows)])]);
}

/** Return the panel. @param {Alike} alike @param {Api["Decision"]} decision */
export function alikePanel(alike, { did }) {
  const { found, isByNumber } = alike;
  return [
    h("p", { class: "quiet" }, [t("alike.what"), isByNumber ? [" ", t("alike.number")] : null]),
    h("p", null, [found.decisions ? t("alike.found", { n: found.decisions, hands: found.hands }) : t("alike.none"), found.limited ? [" ", t("alike.limited")] : null]),
    table(alike, /** @type {Api["Move"]} */ (did)),
    h("ol", { class: "quiet" }, found.items.map((one) =>
      h("li", null, [h("a", { href: `/replay/${one.game}?event=${one.event}&why=1` }, [t("alike.one", { choice: inWords(choiceIn(one)), n: one.event })]), " · ", one.bot ?? t("alike.person")]),
    )),
  ];
}

/** @param {Decisions["items"][number]} one */
const choiceIn = ({ kind, rank, count }) => (kind === "play" ? `play ${rank} x${count}` : kind);
