/** Sentences of the server in the reader's language: made from their codes and values. */

import { spelled } from "./cards.js";
import { has, listed, t } from "./i18n.js";

/** Names of values that are seats, and of those that are cards, as in the server's `sentences.py`. */
const SEATS = /^(?:seats?|dealer|due|holder|taker)$/;
const CARDS = /^(?:cards?|fitting|actual)$/;

const UNITS = /** @type {[number, string][]} */ ([[86_400, "day"], [3_600, "hour"], [60, "minute"], [1, "second"]]);

/** @param {number} seconds */
function span(seconds) {
  const [size, unit] = UNITS.find((one) => seconds >= one[0]) ?? UNITS[3];
  return t(`span.${unit}`, { n: Math.floor(seconds / size) });
}

const numbered = (/** @type {number} */ seat) => t("seat.number", { n: seat + 1 });

/** @param {string} rank @returns {string} with its article, if the language has any */
const ranked = (rank) => t(has(`ask.rank.${rank}`) ? `ask.rank.${rank}` : "ask.rank", { rank: t(`rank.${rank}`) });

/**
 * Return a sentence of the server in words; null without a code, or if the page has no text for it.
 *
 * @param {{code?: string | null, values?: Record<string, any> | null}} said
 * @param {(seat: number) => string} [who] the name of a seat
 * @returns {string | null}
 */
export function worded({ code, values }, who = numbered) {
  if (!code || !has(code)) return null;
  const shown = Object.entries(values ?? {}).map(([name, value]) => {
    /** @type {((one: any) => string) | null} */
    const nameOf = SEATS.test(name) ? who : CARDS.test(name) ? spelled : name === "ranked" ? ranked : /age$/.test(name) ? span : /^(?:state|why)$/.test(name) ? t : null;
    if (value?.code) return [name, worded(value, who)];
    if (!nameOf || value === null) return [name, value];
    return [name, Array.isArray(value) ? listed(value.map(nameOf)) : nameOf(value)];
  });
  const text = t(code, Object.fromEntries(shown));
  return `${text[0].toUpperCase()}${text.slice(1)}`;
}
