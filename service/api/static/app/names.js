/**
 * Names of players: their length as the server counts it, and names of two words for guests.
 */

import { t } from "./i18n.js";

const LONGEST = 40;
const MOST_BYTES = 160;

/** @returns {string} two words at random in the language of the page, such as "Brave Otter" */
export function guestName() {
  const numbers = crypto.getRandomValues(new Uint32Array(2));
  const [first, second] = ["guest.first", "guest.second"].map((key, at) => {
    const words = t(key).split(" ");
    return words[numbers[at] % words.length];
  });
  return t("guest.name", { first, second });
}

/**
 * Return whether a name has a length that the server accepts; its other rules are the server's.
 *
 * @param {string} name
 */
export function fits(name) {
  const text = name.normalize("NFC");
  // Without Intl.Segmenter an emoji of several parts counts as several: the server decides.
  const count = "Segmenter" in Intl ? [...new Intl.Segmenter().segment(text)].length : Math.min(LONGEST, [...text].length);
  return count >= 1 && count <= LONGEST && new TextEncoder().encode(text).length <= MOST_BYTES;
}
