/** Sentences of the server in the reader's language: made from their codes and values. */

import { ranked, spelled } from "./cards.js";
import { begun, either, has, listed, seatWords, t } from "./i18n.js";

/** Names of values that are seats, and of those that are cards, as in the server's `sentences.py`. */
const SEATS = /^(?:seats?|dealer|due|holder|taker)$/;
const CARDS = /^(?:cards?|fitting|actual)$/;
/** Names of cards before which their sentences have an article, if their language has any. */
const BARE = /^(?:card|fitting|actual)$/;
/** Names of values that are alternatives. */
const ANY = /^(?:claims|charges|types)$/;

const UNITS = /** @type {[number, string][]} */ ([[86_400, "day"], [3_600, "hour"], [60, "minute"], [1, "second"]]);

/** @param {number} seconds */
function span(seconds) {
  const [size, unit] = UNITS.find((one) => seconds >= one[0]) ?? UNITS[3];
  return t(`span.${unit}`, { n: Math.floor(seconds / size) });
}

const happens = (/** @type {string} */ kind) => t(has(`happens.${kind}`) ? `happens.${kind}` : "happens.other");

/**
 * Return a value as its sentence shows it; its name decides how.
 *
 * @param {string} name @param {any} value @param {(seat: number) => string} who @returns {any}
 */
function shown(name, value, who) {
  if (Array.isArray(value)) {
    const words = value.map((one) => shown(name, one, who));
    if (ANY.test(name)) return either(words);
    return SEATS.test(name) || CARDS.test(name) || name === "checks" ? listed(words) : words.join(", ");
  }
  if (value?.code) return has(value.code) ? filled(value, who) : "…";
  if (value === null || value === undefined) return value;
  if (SEATS.test(name)) return who(value);
  if (CARDS.test(name)) return BARE.test(name) ? spelled(value) : t("card.the", { card: spelled(value) });
  if (name === "ranked") return ranked(value);
  if (name === "event") return happens(value);
  if (/age$/.test(name)) return span(value);
  return /^(?:state|why)$/.test(name) ? t(value) : value;
}

/** @param {{code?: any, values?: any}} said @param {(seat: number) => string} who @returns {string} */
const filled = ({ code, values }, who) =>
  t(code, Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, shown(name, value, who)])));

/**
 * Return a sentence of the server in words; null without a code, or if the page has no text for it.
 *
 * @param {{code?: string | null, values?: Record<string, any> | null}} said
 * @param {(seat: number) => string} [who] the name of a seat
 * @returns {string | null}
 */
export function worded(said, who = seatWords) {
  if (!said.code || !has(said.code)) return null;
  return begun(filled(said, who));
}
