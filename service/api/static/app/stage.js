/**
 * How an event is shown: cards fly, a card turns over in its place, the pile burns, a seat is skipped.
 *
 * The moving pictures lie in a layer of their own above the page; without motion the same time passes.
 */

import { rankOf, spelled } from "./cards.js";
import { find, h, reducesMotion } from "./dom.js";
import { t } from "./i18n.js";
import { turnedCard } from "./moves.js";
import { picture } from "./pictures.js";
import { rest } from "./story.js";

/** @typedef {import("./story.js").Entry} Entry */
/** @typedef {import("./story.js").Showing} Showing */

/** Milliseconds before and after the change of the picture, for a bot's action, by the type of the event. @type {Record<string, [number, number]>} */
const TIMES = {
  cards_thrown: [340, 260], cards_swapped: [0, 300], table_laid: [0, 300], seat_ready: [0, 60],
  cards_played: [340, 350], cards_drawn: [200, 0], pile_burned: [700, 200], pile_picked_up: [420, 280],
  blind_failed: [800, 200], stock_failed: [800, 200], turn_passed: [0, 600], turn_timed_out: [0, 300],
  seat_out: [0, 300], game_ended: [250, 0],
}; // prettier-ignore
const TURNED = 1300; // milliseconds in which a hidden card turns over and rests
const PERSON = [260, 0]; // of an action of a person, which is not slowed down
const SIGN = 1100; // milliseconds for which a sign beside a seat is seen
const LEGIBLE = 40; // the least width in pixels of a card that was turned over
const SHOWN = 5; // cards of the pile that are seen when it moves

/** @param {Api["Event"]} event @returns {boolean} whether it turns over a card that was hidden */
const turns = ({ type, data }) =>
  type === "blind_failed" || type === "stock_failed" || (type === "cards_played" && ["down", "stock"].includes(data.zone));

/** @param {Entry} entry @returns {[number, number]} the milliseconds before and after the change */
function times({ event, view }) {
  const [before, after] = TIMES[event.type] ?? [0, 0];
  const isPerson = typeof event.by === "number" && view.seats[event.by]?.kind === "human";
  const [lead, trail] = isPerson ? [Math.min(before, PERSON[0]), PERSON[1]] : [before, after];
  const extra = turns(event) ? TURNED : 0;
  return [(event.type === "pile_burned" || extra ? before : lead) + extra, trail];
}

/** @param {Entry} entry @returns {number} the normal time of an event in milliseconds */
export const timeOf = (entry) => times(entry)[0] + times(entry)[1];

// ---- places on the page

/** @param {string} selector */
const at = (selector) => document.querySelector(selector);
/** @param {number} seat @param {number | null} me */
const seatAt = (seat, me) => (seat === me ? at("#own") : at(`[data-seat="${seat}"]`));
/** @param {number} seat @param {number | null} me */
const handAt = (seat, me) => (seat === me ? at("#hand") : (at(`[data-seat="${seat}"] .inhand`) ?? seatAt(seat, me)));
/** @param {string} card @param {number} seat @param {number | null} me */
const cardAt = (card, seat, me) =>
  at(seat === me ? `[data-own="${card}"]` : `[data-seat="${seat}"] [data-card="${card}"]`) ?? handAt(seat, me);
/** @param {number} slot @param {number} seat @param {number | null} me */
const slotAt = (slot, seat, me) =>
  at(seat === me ? `[data-own="slot ${slot}"]` : `[data-seat="${seat}"] [data-place="${slot}"]`) ?? seatAt(seat, me);

const layer = () =>
  document.getElementById("flights") ?? find("#felt").appendChild(h("div", { id: "flights", "aria-hidden": "true" }));

/** Selectors of own cards whose copies move. @type {string[]} */
let moving = [];

/** Hide the picture of a card while its copy moves. @param {Element | null} element */
function hide(element) {
  if (!(element instanceof HTMLElement) || !element.matches(".card, .chip")) return;
  element.style.setProperty("visibility", "hidden");
  if (element.dataset.own) moving.push(`[data-own="${element.dataset.own}"]`);
}

/** Hide again the own cards whose copies move, after they were drawn anew. */
export function rehide() {
  for (const selector of moving) document.querySelectorAll(selector).forEach((card) => card instanceof HTMLElement && card.style.setProperty("visibility", "hidden"));
}

/**
 * Return where a copy of a card leaves or reaches a place, in the size of the cards there.
 *
 * @param {Element | null} place a card, a slot, pile, stock, a hand or a seat
 * @returns {DOMRect | null}
 */
function boxOf(place) {
  if (!place) return null;
  if (place.matches("#hand") && !place.childElementCount) return boxOf(at("#own")); // an empty hand is not laid out
  const box = place.getBoundingClientRect();
  const card = place.matches(".card, .slot, .hole")
    ? null
    : (place.querySelector(".laid:last-of-type .card") ?? place.querySelector(".card, .slot, .hole"))?.getBoundingClientRect();
  if (!card) return box;
  const { width, height } = card;
  return place.matches("#hand, #own") ? new DOMRect(box.x + (box.width - width) / 2, box.y + (box.height - height) / 2, width, height) : card;
}

/** Place a picture on another one, in its size. @param {DOMRect} box @param {DOMRect} size @param {number} [aside] @param {number} [scale] */
const onto = (box, size, aside = 0, scale = Math.min(1.6, box.width / size.width)) => {
  const [width, height] = [size.width * scale, size.height * scale];
  const x = Math.min(innerWidth - width - 4, Math.max(4, box.x + (box.width - width) / 2 + aside * scale));
  const y = Math.min(innerHeight - height - 4, Math.max(4, box.y + (box.height - height) / 2));
  return `translate(${x}px, ${y}px) scale(${scale})`;
};

/**
 * Move copies of cards from their places to another one.
 *
 * @param {(string | null)[]} cards null: face down
 * @param {(Element | null)[]} from the place of each card
 * @param {Element | null} to
 * @param {number} ms @param {AbortSignal} signal
 */
async function fly(cards, from, to, ms, signal) {
  const target = boxOf(to);
  if (target && !reducesMotion()) {
    cards.forEach((card, n) => {
      const box = boxOf(from[n]);
      if (!box) return;
      const copy = picture(card, { label: "" });
      layer().append(copy);
      const size = copy.getBoundingClientRect();
      hide(from[n]);
      const delay = (n * Math.min(60, ms / 4)) / Math.max(1, cards.length - 1);
      copy.animate(
        [{ transform: onto(box, size, n * 6) }, { transform: onto(target, size, n * 6) }],
        { duration: Math.max(1, ms - delay), delay, easing: "ease-in-out", fill: "both" },
      );
    });
  }
  await rest(ms, signal);
}

/** Turn over a card in its place, and let it rest; a card that stays hidden is lifted. @param {string | null} card @param {Element | null} place @param {number} ms @param {AbortSignal} signal */
async function turnOver(card, place, ms, signal) {
  const box = boxOf(place);
  if (!box) {
    await rest(ms, signal);
    return null;
  }
  const face = picture(card, { label: "", class: "turned" });
  layer().append(face);
  const size = face.getBoundingClientRect();
  const scale = Math.max(box.width * 1.2, LEGIBLE) / size.width;
  const large = onto(box, size, 0, scale);
  face.style.setProperty("transform", large);
  if (!place?.closest("[data-stock]")) hide(place); // below the top card of the stock is the next one
  if (card) sign(spelled(card), face, ms, Boolean(place?.closest("#own, #middle")));
  if (!reducesMotion()) {
    const edge = `${large} translateX(50%) rotateY(90deg) translateX(-50%)`;
    const back = picture(null, { label: "" });
    layer().append(back);
    back.animate([{ transform: onto(box, size) }, { transform: edge }], { duration: ms * 0.12, fill: "both" });
    face.animate(
      [{ transform: edge }, { transform: large }],
      { duration: ms * 0.12, delay: ms * 0.12, fill: "both" },
    );
  }
  await rest(ms, signal);
  return face;
}

const SHAKE = ["0", "-7px", "7px", "-5px", "5px", "0"].map((translate) => ({ translate }));

/**
 * Show a sign for a while: on the pile, or at the edge of a seat or a card, where it covers no text.
 *
 * @param {string} text @param {Element | null} place @param {number} ms @param {boolean} [above] at the upper edge
 */
function sign(text, place, ms, above = false) {
  const box = place?.getBoundingClientRect();
  if (!box) return;
  const shown = h("b", { class: "sign" }, [text]);
  layer().append(shown);
  const half = shown.offsetWidth / 2 + 4;
  shown.style.setProperty("left", `${Math.min(innerWidth - half, Math.max(half, box.x + box.width / 2))}px`);
  const top = place?.matches("[data-pile]") ? box.y + Math.min(box.height / 2, 26) : above ? box.y - 8 : box.bottom + 8;
  shown.style.setProperty("top", `${Math.min(innerHeight - 16, Math.max(14, top))}px`);
  setTimeout(() => shown.remove(), ms);
}

// ---- events

/** The cards of the pile that were played last and have one rank. @param {string[]} pile */
function setOf(pile) {
  const top = pile.at(-1) ?? "";
  const other = [...pile].reverse().findIndex((card) => rankOf(card) !== rankOf(top));
  return other < 0 ? pile : pile.slice(pile.length - other);
}

/** @param {Extract<Api["Event"], {type: "pile_burned"}>["data"]} data @param {string[]} pile @returns {string} why the pile burns */
export function burnReason({ cause }, pile) {
  const top = pile.at(-1);
  if (!top) return "";
  const rank = t(`rank.${rankOf(top)}`);
  return cause === "rank" ? rank : t("burn.set", { n: setOf(pile).length, rank });
}

/** @param {string} why @param {number} ms @param {AbortSignal} signal */
async function burn(why, ms, signal) {
  const pile = at("[data-pile]");
  pile?.classList.add("burning");
  if (why) sign(why, pile, ms + 500);
  if (!reducesMotion()) {
    pile?.querySelectorAll(".laid").forEach((card, n) => {
      const side = n % 2 ? 1 : -1;
      card.animate(
        [{}, { offset: 0.45 }, { translate: `${side * (40 + n * 22)}px ${-30 - n * 12}px`, rotate: `${side * 40}deg`, opacity: 0 }],
        { duration: ms, easing: "ease-in", fill: "both" },
      );
    });
  }
  await rest(ms, signal);
}

/** The seats that a play passes over: between its seat and the next one in the new direction. @param {Api["GameView"]} view @param {number} seat @param {number | null} turn @param {number} direction */
function passedOver({ seats }, seat, turn, direction) {
  /** @type {number[]} */ const found = [];
  if (turn === null || turn === seat) return found; // after a burn the seat plays again
  for (let one = (seat + direction + seats.length) % seats.length; one !== turn && one !== seat; one = (one + direction + seats.length) % seats.length) {
    if (seats[one].out === null) found.push(one);
  }
  return found;
}

/** Show at the seats that the direction changed, or that the turn went past them. @param {Entry} entry @param {Api["GameView"]} was @param {number | null} me @param {number} ms */
function signs({ event: { data, type }, view }, was, me, ms) {
  if (type !== "cards_played" || view.status !== "playing" || was.turn !== data.seat) return;
  if (data.direction !== was.direction) {
    sign(t("sign.reversed"), seatAt(data.seat, me), ms, data.seat === me);
    const arrow = at(".turning svg");
    if (!reducesMotion()) arrow?.animate([{ transform: "rotate(0)" }, { transform: "rotate(360deg)" }], { duration: 500 });
  }
  for (const seat of passedOver(view, data.seat, data.turn, data.direction)) sign(t("sign.skipped"), seatAt(seat, me), ms, seat === me);
}

/**
 * Show an event: `was` is the view before it, `me` the reader's seat.
 *
 * @param {Entry} entry @param {Api["GameView"]} was @param {number | null} me @param {Showing} how
 */
export async function stage(entry, was, me, { tempo, signal, show }) {
  const { event, view } = entry;
  const { type, data } = event;
  const [lead, trail] = times(entry).map((ms) => ms * tempo);
  const turned = turns(event) ? TURNED * tempo : 0;
  const pile = at("[data-pile]");
  try {
    switch (type) {
      case "cards_played":
      case "cards_thrown": {
        let from = data.cards.map((card) => cardAt(card, data.seat, me));
        if (turned) {
          const place = "slot" in data && data.slot !== null ? slotAt(data.slot, data.seat, me) : at("[data-stock] .card");
          from = [await turnOver(data.cards[0], place, turned, signal)];
        }
        await fly(data.cards, from, pile, lead - turned, signal);
        break;
      }
      case "cards_drawn":
        await fly(Array(Math.min(3, data.count)).fill(null), Array(3).fill(at("[data-stock]")), handAt(data.seat, me), lead, signal);
        break;
      case "pile_burned":
        await burn(burnReason(data, was.pile), lead, signal);
        break;
      case "blind_failed":
      case "stock_failed": {
        const card = data.opening?.card ?? (data.seat === me ? turnedCard(was, view) : null);
        const place = "slot" in data ? slotAt(data.slot, data.seat, me) : at("[data-stock] .card");
        const face = await turnOver(card, place, turned, signal);
        if (!reducesMotion()) face?.animate(SHAKE, { duration: 350 * tempo });
        await rest((lead - turned) / 2, signal);
        const ms = (lead - turned) / 2;
        // The turned card goes to the seat that turned it, even if another one takes the pile.
        await Promise.all([sweep(was.pile, [], handAt(data.taker, me), ms, signal), fly([card], [face], handAt(data.seat, me), ms, signal)]);
        break;
      }
      case "pile_picked_up":
        await sweep(was.pile, data.with.map((card) => [card, cardAt(card, data.seat, me)]), handAt(data.taker, me), lead, signal);
        break;
      default:
        await rest(lead, signal);
    }
    clear();
    show();
    signs(entry, was, me, Math.max(trail, SIGN * Math.min(1, tempo)));
    await rest(trail, signal);
  } catch (error) {
    clear();
    for (const one of layer().querySelectorAll(".sign")) one.remove(); // they belong to earlier events
    throw error;
  }
}

/** Remove what moved; signs end by themselves. */
function clear() {
  moving = [];
  for (const one of layer().querySelectorAll(".card")) one.remove();
}

/** @param {string[]} pile @param {[string | null, Element | null][]} more @param {Element | null} to @param {number} ms @param {AbortSignal} signal */
async function sweep(pile, more, to, ms, signal) {
  const laid = [...document.querySelectorAll("[data-pile] .laid .card")];
  const cards = /** @type {(string | null)[]} */ (pile.slice(-SHOWN));
  await fly([...cards, ...more.map(([card]) => card)], [...laid.slice(-cards.length), ...more.map(([, place]) => place)], to, ms, signal);
}
