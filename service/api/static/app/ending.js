/** What is shown when a hand is over: what each seat did, the ratings, the hands of the table, and how to share the hand. */

import { get } from "./api.js";
import { seatName } from "./captions.js";
import { h } from "./dom.js";
import { listed, t } from "./i18n.js";

/**
 * Return what a seat did in a hand, in a few words: cards picked up, the most at once, and burns.
 *
 * @param {Api["Event"][]} events of the hand
 * @param {number} seat
 */
export function detail(events, seat) {
  /** @type {number[]} */ const picked = [];
  let burns = 0;
  events.forEach(({ type, data }) => {
    const turned = (type === "blind_failed" || type === "stock_failed") && data.seat === seat ? 1 : 0; // it goes to the hand as well
    const taken = "taker" in data && data.taker === seat ? data.count + ("with" in data ? data.with.length : 0) : 0;
    if (turned + taken) picked.push(turned + taken);
    if (type === "pile_burned" && data.seat === seat) burns += 1;
  });
  const all = picked.reduce((sum, one) => sum + one, 0);
  return [
    t("end.picked", { n: all }),
    picked.length > 1 ? t("end.most", { n: Math.max(...picked) }) : "",
    burns ? t("end.burns", { n: burns }) : "",
  ].filter(Boolean).join(" · ");
}

/**
 * Return the hands of a table so far, and who had the bag after them; empty before the second one.
 *
 * @param {Api["Table"] | null} table
 */
export function evening(table) {
  const seats = table?.seats ?? [];
  const hands = Math.max(0, ...seats.map((seat) => seat.hands));
  if (hands < 2) return "";
  const lost = seats.filter((seat) => seat.shithead).sort((a, b) => b.shithead - a.shithead);
  const bags = lost.map((seat) => t("end.bag", { who: seatName(seat), n: seat.shithead }));
  return t(bags.length ? "end.evening" : "end.evening.none", { n: hands, who: listed(bags) });
}

/** @typedef {Map<string, Api["Player"]["ratings"][number]>} Ratings the ratings of players in one ruleset, by the player's id */

/** Fetch the ratings of the people of a hand. @param {(string | null)[]} ids @param {string} ruleset @param {AbortSignal} signal @returns {Promise<Ratings>} */
export async function ratingsOf(ids, ruleset, signal) {
  const profiles = await Promise.all(ids.map((id) => get(`/v1/players/${id}`, { signal })));
  return new Map(profiles.flatMap(({ id, ratings }) => ratings.filter((one) => one.ruleset === ruleset).map((one) => [id, one])));
}

/** @param {number} rating @returns {string} with one decimal and a true minus */
const signed = (rating) => rating.toFixed(1).replace("-", "−");

/**
 * Return a player's rating with what a hand changed of it, or null without a rating.
 *
 * @param {Ratings | null} before the hand, null if unknown @param {Ratings | null} after it, null until the hand is counted @param {string | null | undefined} player
 */
export function ratingLine(before, after, player) {
  const now = after?.get(player ?? "");
  if (!now) return null;
  const was = before && (before.get(player ?? "") ?? { hands: 0, rating: 0 }); // a newcomer's
  const change = was && now.hands === was.hands + 1 ? now.rating - was.rating : null;
  return h("span", { class: `rated ${change === null ? "" : change < 0 ? "fell" : "rose"}` }, [
    t("end.rating", { n: signed(now.rating) }), change === null ? null : h("b", null, [(change < 0 ? "" : "+") + signed(change)]),
  ]);
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
