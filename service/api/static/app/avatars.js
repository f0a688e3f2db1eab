/** Pictures of players, made from their ids: a face in a colour; a bot's is square. */

import { svg } from "./dom.js";

const EYES = ["M9 12h3v3H9zM20 12h3v3h-3z", "M8 14c1-3 4-3 5 0zM19 14c1-3 4-3 5 0z", "M10.5 11a2.2 2.2 0 1 1-.1 0zM21.5 11a2.2 2.2 0 1 1-.1 0z", "M8 12h6v2H8zM18 12h6v2h-6z"];
const MOUTHS = ["M10 20h12c-1 6-11 6-12 0z", "M11 21h10v2.5H11z", "M10 24c2-5 10-5 12 0z", "M13 20h6v5h-6z"];
const HAIR = ["M4 9C8 1 24 1 28 9c-6-2-18-2-24 0z", "M14 1h4v7h-4z", "M5 9 8 2l4 5 4-6 4 6 4-5 3 7z", "M3 10C6 0 18 0 29 4c-7 1-14 2-18 5z"];

/** @param {string} text @returns {number} a hash (FNV-1a) of 32 bits */
function hash(text) {
  let found = 2166136261;
  for (const letter of text) found = Math.imul(found ^ /** @type {number} */ (letter.codePointAt(0)), 16777619) >>> 0;
  return found;
}

/** @param {HTMLElement} root of a page about a hand @returns {(string | null)[]} the id of each seat's player; none if the page names no players */
export const playersOf = ({ dataset }) => dataset.players?.split(" ").map((id) => (id === "-" ? null : id)) ?? [];

/**
 * Return the picture of a seat's player, which is decoration beside the name.
 *
 * @param {{kind: string, name: string | null, bot?: string | null, seat?: number}} seat
 * @param {string | null} [id] of the player; without one, the picture is made from the name
 */
export function avatar({ kind, name, bot, seat }, id) {
  const isBot = kind === "bot";
  const bits = hash(isBot ? `${bot ?? ""} ${seat}` : (id ?? name ?? String(seat)));
  const of = (/** @type {string[]} */ some, /** @type {number} */ shift) => some[(bits >>> shift) % some.length];
  const shape = isBot ? { x: 2, y: 4, width: 28, height: 26, rx: 4 } : { x: 1, y: 2, width: 30, height: 29, rx: 15 };
  return svg("svg", { viewBox: "0 0 32 32", class: "avatar", "aria-hidden": "true" }, [
    svg("rect", { ...shape, fill: isBot ? "#9aa7b4" : `hsl(${(bits % 24) * 15} 62% 72%)` }),
    svg("path", { fill: "#1b1b1b", d: of(EYES, 8) + of(MOUTHS, 12) }),
    svg("path", { fill: isBot ? "#5d6b79" : `hsl(${((bits >>> 20) % 24) * 15} 45% 34%)`, d: of(HAIR, 16) }),
  ]);
}
