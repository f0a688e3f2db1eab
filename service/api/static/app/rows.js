/** Rows of the lists in the lobby: pictures of players, a title with details, dots for seats, and what can be done. */

import { avatar } from "./avatars.js";
import { h } from "./dom.js";

const PICTURED = 4; // players whose pictures a row shows

/** Return the pictures of the taken seats, as many as a row has room for. @param {(Api["TableSeat"] | Api["GameSeat"])[]} seats */
export const picturesOf = (seats) =>
  h("span", { class: "pictures", "aria-hidden": "true" }, seats.filter(({ kind }) => kind !== "open").slice(0, PICTURED).map((seat) => avatar(seat, seat.player)));

/** Return a dot for each seat of a table, filled for those that are taken: decoration beside their numbers. @param {number} taken @param {number} seats */
export const dotsOf = (taken, seats) =>
  h("span", { class: "dots", "aria-hidden": "true" }, Array.from({ length: seats }, (_, at) => h("i", { class: at < taken ? "taken" : "" })));

/**
 * Return a row; a press anywhere on a pressable one is one on its last link or button.
 *
 * @param {{before?: HTMLElement, title: any, detail: any, dots?: HTMLElement, isPressable?: boolean}} what
 * @param {HTMLElement[]} links
 */
export function row({ before, title, detail, dots, isPressable = true }, ...links) {
  return h("li", { class: `row${isPressable ? " pressable" : ""}` }, [
    before,
    h("span", { class: "what" }, [h("strong", null, [title]), h("span", { class: "quiet" }, [dots, detail])]),
    h("span", { class: "buttons" }, links),
  ]);
}
