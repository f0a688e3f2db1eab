/** What is shown when a hand is over: what each seat did, and how to share the hand. */

import { t } from "./i18n.js";

/**
 * Return what a seat did in a hand, in a few words: cards picked up, burns, and its longest turn.
 *
 * @param {Api["Event"][]} events of the hand
 * @param {number} seat
 */
export function detail(events, seat) {
  let picked = 0;
  let burns = 0;
  events.forEach(({ type, data }) => {
    if ("taker" in data && data.taker === seat) picked += data.count + ("with" in data ? data.with.length : 0);
    if ((type === "blind_failed" || type === "stock_failed") && data.seat === seat) picked += 1; // the turned card
    if (type === "pile_burned" && data.seat === seat) burns += 1;
  });
  const longest = longestTurn(events, seat);
  return [t("end.picked", { n: picked }), burns ? t("end.burns", { n: burns }) : "", longest >= 1000 ? t("end.longest", { n: Math.round(longest / 1000) }) : ""]
    .filter(Boolean)
    .join(" · ");
}

/**
 * Return the longest turn of a seat in milliseconds: from the event that gave it the turn, or from its own
 * action before, until its action. Another seat's follow-up meanwhile begins no new turn.
 *
 * @param {Api["Event"][]} events of the hand
 * @param {number} seat
 */
export function longestTurn(events, seat) {
  let longest = 0;
  let since = 0;
  /** @type {number | null} */
  let turn = null;
  events.forEach(({ data, by, at }) => {
    const time = Date.parse(at);
    if (by === seat && turn === seat) longest = Math.max(longest, time - since);
    if (!("turn" in data)) return;
    if (data.turn !== turn || by === turn) since = time;
    turn = data.turn;
  });
  return longest;
}

/** Share the replay of a hand, or copy its address. @param {string} address @param {string} title @returns {Promise<boolean>} whether it was copied */
export async function share(address, title) {
  if (navigator.share) {
    await navigator.share({ title, url: address }).catch(() => {}); // the reader closed the dialog
    return false;
  }
  await navigator.clipboard?.writeText(address);
  return Boolean(navigator.clipboard);
}
