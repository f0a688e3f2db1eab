/** The time of the server, from the `Date` of its answers: the clock of a device can be minutes wrong. */

/** The least and greatest number of milliseconds by which the server's clock can be ahead of this device's. */
let least = -Infinity;
let greatest = Infinity;

/**
 * Note the time of an answer that no cache stored; it was written between `sent` and now, in whole seconds.
 *
 * @param {string | null} date
 * @param {number} sent the time of this device when the request was sent
 */
export function heard(date, sent) {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return;
  const low = at - Date.now();
  const high = at + 1000 - sent;
  const agrees = low <= greatest && high >= least; // else one of the two clocks was set
  least = agrees ? Math.max(least, low) : low;
  greatest = agrees ? Math.min(greatest, high) : high;
}

/** @returns {number} the time of the server in milliseconds; before its first answer, that of this device */
export const now = () => Date.now() + (Number.isFinite(least) ? (least + greatest) / 2 : 0);
