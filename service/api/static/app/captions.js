/**
 * Events in words: one sentence each, in the language of the page.
 *
 * The next seat and the demand of the pile are in the view.
 */

import { brief, printed, rankOf, ranked, spelled } from "./cards.js";
import { h } from "./dom.js";
import { begun, either, has, listed, seatNumber, seatWords, t } from "./i18n.js";

/**
 * @typedef {Object} Voice how sentences are worded
 * @property {(seat: number) => string} who the name of a seat
 * @property {boolean} [aloud] cards in words, for screen readers; else in symbols
 * @property {(seq: number) => string | null} [turned] the card that the reader turned in an event that hides it
 */

/**
 * Return the name of a seat: its player's, its bot's with the seat's number, or the number alone. A player without a
 * name was erased.
 *
 * @param {{seat: number, name: string | null, kind: string, bot?: string | null}} seat of a game or table; the lists of games name no bots
 */
export function seatName(seat) {
  if (seat.name) return seat.name;
  if (seat.bot) return botName(seat.bot, seat.seat);
  const keys = { open: "seat.open", bot: "seat.bot.number", human: "seat.erased" };
  const key = keys[/** @type {keyof typeof keys} */ (seat.kind)];
  return key ? t(key, { n: seatNumber(seat.seat) }) : begun(seatWords(seat.seat));
}

/**
 * Return the name of a bot, which no other bot of its hand has; of a kind without names the kind and the number of the seat.
 *
 * @param {string} kind
 * @param {number} seat
 */
function botName(kind, seat) {
  const key = `bot.names.${kind}`;
  if (!has(key)) return `${begun(kind)} ${seatNumber(seat)}`;
  const names = t(key).split(" ");
  const name = names[seat % names.length];
  return seat < names.length ? name : `${name} ${Math.floor(seat / names.length) + 1}`;
}

/**
 * Return the demand of the pile: "9 or higher, or a 2".
 *
 * @param {Api["Demand"]} demand of a view
 * @param {{aloud?: boolean}} [how] ranks in words, for sentences: "nine or higher, or a two"
 */
export function demandText({ kind, rank, besides }, { aloud = false } = {}) {
  if (rank === null) return t("demand.anything");
  const named = (/** @type {string} */ one) => (aloud ? t(`rank.${one}`) : printed(one));
  const ask = t(`demand.${kind}`, { rank: named(rank) });
  return besides.length ? t("demand.also", { ask, ranks: either(besides.map((one) => ranked(one, named(one)))) }) : ask;
}

/**
 * Return a text in parts, of which those with a name or a card are left as they are by a browser's translator.
 *
 * @param {string} text
 * @param {string[]} names
 */
export function marked(text, names) {
  const exact = names.filter((name) => name.length > 1).map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${[...exact, "(?:10|[2-9JQKA])[♣♦♥♠]"].join("|")})`, "u"));
  return parts.map((part, at) => (at % 2 ? h("span", { translate: "no" }, [part]) : part));
}

/** @param {string} code @param {any} data @param {number} taker the seat that takes or clears the pile @param {object} [values] @returns {[string, object]} */
const taken = (code, { seat, count: n }, taker, values = {}) => (taker === seat ? [code, { seat, n, ...values }] : [`${code}.for`, { seat, n, taker, ...values }]);

/** The code and values of each event, as in `captions.py`. @type {{[Type in Api["Event"]["type"]]?: (data: Extract<Api["Event"], {type: Type}>["data"], turned?: string | null) => [string, object]}} */
const SENTENCES = {
  game_created: ({ seats }) => ["did.created", { n: seats.length }],
  deck_committed: ({ cards }) => ["did.deck", { n: cards.length }],
  cards_dealt: ({ dealer: seat, starter, returned, down, up, hand }) => [
    !starter ? "did.dealt" : returned.length ? "did.dealt.returned" : "did.dealt.starter",
    { seat, down, up, hand, cards: starter ? [starter.card] : [], laid: returned.map((one) => one.card) },
  ],
  play_started: ({ turn }) => (turn === null ? ["did.started.open", {}] : ["did.started", { seat: turn }]),
  cards_thrown: ({ seat, cards, count: n }) => [n ? "did.cards_thrown.drew" : "did.cards_thrown", { seat, cards, n }],
  cards_swapped: ({ seat, up, hand }) => ["did.swapped", { seat, laid: up, taken: hand }],
  table_laid: ({ seat, stacks, count: n }) => [n ? "did.laid.drew" : "did.laid", { seat, cards: stacks.flat(), n }],
  cards_played: ({ seat, zone, cards }) => [zone === "hand" ? "did.played" : `did.played.${zone}`, { seat, cards }],
  pile_burned: (data) => taken(`did.burned.${data.cause}`, data, data.cleared_by),
  pile_picked_up: ({ seat, taker, count: n, with: cards }) =>
    taker !== seat ? ["did.gave", { seat, taker, n }] : [cards.length ? "did.picked.with" : "did.picked", { seat, cards, n }],
  blind_failed: (data, turned) => {
    const card = data.opening?.card ?? turned;
    return taken(card ? "did.blind" : "did.blind.hidden", data, data.taker, { cards: card ? [card] : [] });
  },
  stock_failed: (data) => taken("did.stock", data, data.taker, { cards: [data.opening.card] }),
  seat_out: ({ seat, place }) => ["did.out", { seat, n: place }],
  absence_claimed: ({ seat, absent: taker, then }) => [`did.absent.${then}`, { seat, taker }],
  game_aborted: ({ cause, seat }) => [`did.aborted.${cause}${seat === null || /operator|agreed/.test(cause) ? "" : ".seat"}`, { seat }],
};

/**
 * An event as a sentence.
 *
 * @param {Api["Event"]} event
 * @param {Voice} voice
 * @returns {string}
 */
export function caption(event, voice) {
  const { type, data, seq } = event;
  if (type === "game_ended") return resultText(data, voice);
  if (!(type in SENTENCES) && !has(`did.${type}`)) return type;
  const { seat, count: n } = /** @type {any} */ (data);
  const [code, values] = /** @type {any} */ (SENTENCES[type])?.(data, voice.turned?.(seq)) ?? [`did.${type}`, { seat, n }];
  const names = (/** @type {string[]} */ cards) =>
    voice.aloud ? listed(cards.map((card) => t("card.the", { card: spelled(card) }))) : cards.map(brief).join(" ");
  const shown = Object.entries(values).map(([key, value]) => {
    if (Array.isArray(value)) return [key, value.length ? names(value) : null];
    return [key, /seat|taker/.test(key) && value != null ? voice.who(value) : value];
  });
  return t(code, Object.fromEntries(shown));
}

/** @param {Api["Result"]} result @param {Voice} voice @returns {string} the result of a hand in words */
export function resultText(result, voice) {
  const key = `result.${result.reason}`;
  const who = result.reason === "winner" ? result.places[0] : result.shithead;
  const name = who === null || who === undefined ? "–" : voice.who(who);
  return t(name === t("you") ? `${key}.you` : key, { seat: name });
}

/** Types of events between two passes in a row. */
const NO_ACTS = new Set(["game_ended", "game_sealed", "turn_timed_out", "end_agreed", "absence_claimed"]);

/**
 * Return why a hand ended in a stalemate, empty for another end: all in play passed in a row, or the limit was reached.
 *
 * @param {Api["GameView"]} view
 * @param {Api["Event"][]} events the last ones of the hand
 */
export function stalemateText({ result, seats }, events) {
  if (result?.reason !== "stalemate") return "";
  const acts = events.filter(({ type }) => !NO_ACTS.has(type)).reverse();
  const other = acts.findIndex(({ type }) => type !== "turn_passed");
  const passes = other < 0 ? acts.length : other;
  return t(passes >= seats.length - result.places.length ? "result.stalemate.passed" : "result.stalemate.limit");
}

/** @param {Api["Move"]} move @param {Api["GameView"]} view @returns {string} a possible move in words, for its button */
export function moveInWords(move, view) {
  const names = (/** @type {string[]} */ cards) => cards.map(brief).join(" ");
  switch (move.type) {
    case "play":
      return t("act.play", { cards: names(move.cards) });
    case "pick_up": {
      const along = move.with?.length ? t("act.with", { cards: names(move.with) }) : "";
      return `${t("act.pick_up", { n: view.pile.length })} ${along}`.trim();
    }
    case "swap":
      return t("act.swap", { up: names(move.up), hand: names(move.hand) });
    case "lay":
      return `${t("act.lay")} ${names(move.stacks.flat())}`.trim();
    default:
      return t(`act.${move.type}`, { n: ("slot" in move ? move.slot : 0) + 1 });
  }
}

/** Types of the events that are shown beside the seat that they name. */
const ACTIONS = new Set([
  "cards_thrown", "cards_swapped", "table_laid", "cards_played", "pile_burned",
  "pile_picked_up", "blind_failed", "stock_failed", "turn_passed", "turn_timed_out", "seat_out",
]); // prettier-ignore

/**
 * Return the last action in words, with the rank that burned the pile; empty before the first.
 *
 * @param {Api["Event"][]} events
 * @param {Voice} voice
 */
export function lastAction(events, voice) {
  const newest = [...events].reverse();
  const last = newest.find(({ type }) => ACTIONS.has(type));
  if (!last) return "";
  const { type, data } = last;
  const played = newest.find((one) => one.type === "cards_played");
  const text = caption(last, voice);
  if (type !== "pile_burned" || data.cause !== "rank" || played?.type !== "cards_played") return text;
  return `${text} (${t(`rank.${rankOf(played.data.cards.at(-1) ?? "")}`)})`;
}

/** @param {Api["Event"][]} events @param {number} seat @returns {Api["Event"][]} the actions of a seat, and those by which it took the pile */
const actionsOf = (events, seat) =>
  events.filter(({ type, data }) => ACTIONS.has(type) && "seat" in data && (data.seat === seat || ("taker" in data && data.taker === seat)));

/** Return an action in few words, for a seat: "7♣ 7♥", "burned 4". @param {Api["Event"]} event @param {number} seat */
export function deed({ type, data }, seat) {
  if (type === "cards_played") return data.cards.map(brief).join(" ");
  if (!("taker" in data)) return t(`deed.${type}`, { n: "count" in data ? data.count : "place" in data ? data.place : 0 });
  const isOwn = data.taker === data.seat;
  if (data.seat !== seat) return t("deed.pile_picked_up", { n: data.count });
  if (type === "pile_picked_up") return isOwn ? t(`deed.${type}`, { n: data.count + data.with.length }) : t("deed.gave");
  return t(`deed.${type}`, { n: 1 + (isOwn ? data.count : 0) }); // the card that failed goes to the hand, too
}

/**
 * Return the last three actions of a seat in some events, each in few words, without repetitions.
 *
 * @param {Api["Event"][]} events
 * @param {number} seat
 */
export function recentActions(events, seat) {
  const deeds = actionsOf(events, seat).map((event) => deed(event, seat));
  return deeds.filter((one, at) => one !== deeds[at - 1]).slice(-3);
}

/**
 * Return what a seat did last as a sentence, if it was a hidden card that did not fit; else an empty text.
 *
 * @param {Api["Event"][]} events
 * @param {number} seat
 * @param {Voice} voice
 */
export function lastFailure(events, seat, voice) {
  const last = actionsOf(events, seat).filter(({ data }) => "seat" in data && data.seat === seat).at(-1);
  return last?.type === "blind_failed" || last?.type === "stock_failed" ? caption(last, voice) : "";
}
