/**
 * Animation of cards that move between places. It runs beside the game and delays nothing.
 */

import { picture } from "./cards.js";
import { h, reducesMotion } from "./dom.js";

const FLIGHT = 420; // milliseconds of one flight
const BETWEEN = 130; // milliseconds between the starts of two flights
const MAX_FLIGHTS = 14; // in one update; an update with more is not animated

/** @typedef {{cards: (string | null)[], from: string, to: string}} Flight `from` and `to` are CSS selectors */

/** @param {number} seat @param {number | null} me */
const seatPlace = (seat, me) => (seat === me ? "#hand" : `[data-seat="${seat}"]`);

/**
 * Return the flights of one event.
 *
 * @param {Api["Event"]} event
 * @param {number | null} me
 * @returns {Flight[]}
 */
export function flightsOf({ type, data }, me) {
  const seat = "seat" in data && data.seat !== null ? seatPlace(data.seat, me) : "";
  const backs = (/** @type {number} */ n) => Array(Math.min(3, n)).fill(null);
  switch (type) {
    case "cards_played":
    case "cards_thrown":
      return [{ cards: data.cards, from: "zone" in data && data.zone === "stock" ? "[data-stock]" : seat, to: "[data-pile]" }];
    case "cards_drawn":
      return [{ cards: backs(data.count), from: "[data-stock]", to: seat }];
    case "pile_burned":
      return [{ cards: backs(data.count), from: "[data-pile]", to: "[data-burned]" }];
    case "pile_picked_up":
    case "stock_failed":
    case "blind_failed": {
      const shown = "opening" in data && data.opening ? [data.opening.card] : [];
      const to = seatPlace(data.taker, me);
      return [
        { cards: shown, from: type === "stock_failed" ? "[data-stock]" : seat, to: "[data-pile]" },
        { cards: backs(data.count), from: "[data-pile]", to },
        { cards: data.taker === data.seat ? [] : shown, from: "[data-pile]", to: seat },
      ].filter((flight) => flight.cards.length);
    }
    default:
      return [];
  }
}

/**
 * Record the rectangles of the reader's own cards before a change.
 *
 * @returns {(selector: string) => DOMRect | null} the recorded rectangle of an own card, `own <card>`, or the
 *   present one of another selector
 */
export function places() {
  const found = new Map();
  for (const element of document.querySelectorAll("[data-own]")) {
    found.set(`own ${element.getAttribute("data-own")}`, element.getBoundingClientRect());
  }
  return (/** @type {string} */ place) => {
    if (place.startsWith("own ")) return found.get(place) ?? null;
    return document.querySelector(place)?.getBoundingClientRect() ?? null;
  };
}

/**
 * Animate flights; `before` is the function that `places` returned before the change.
 *
 * @param {Flight[]} flights
 * @param {(selector: string) => DOMRect | null} before
 */
export function fly(flights, before) {
  if (reducesMotion() || document.hidden || !flights.length || flights.length > MAX_FLIGHTS) return;
  const layer = document.getElementById("flights") ?? document.body.appendChild(h("div", { id: "flights", "aria-hidden": "true" }));
  flights.forEach((flight, order) => {
    flight.cards.forEach((card, at) => {
      const from = (card && before(`own ${card}`)) ?? before(flight.from);
      const to = document.querySelector(flight.to)?.getBoundingClientRect();
      if (!from || !to) return;
      const moving = picture(card, { label: "" });
      layer.append(moving);
      const size = moving.getBoundingClientRect();
      const place = (/** @type {DOMRect} */ box) =>
        `translate(${box.x + box.width / 2 - size.width / 2 + at * 9}px, ${box.y + box.height / 2 - size.height / 2}px)`;
      const animation = moving.animate(
        [
          { transform: place(from), opacity: 1 },
          { transform: place(to), opacity: 1, offset: 0.85 },
          { transform: place(to), opacity: 0 },
        ],
        { duration: FLIGHT, delay: order * BETWEEN, easing: "ease-in-out", fill: "both" },
      );
      animation.finished.then(() => moving.remove(), () => moving.remove());
    });
  });
}
