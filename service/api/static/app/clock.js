/**
 * The time of the server, from the `Date` of its answers: the clock of a device can be minutes wrong.
 *
 * The time of the device is counted by `performance.now()`, which goes on evenly while somebody sets the clock.
 */

/** The least and greatest number of milliseconds by which the server's clock can be ahead of `ticks`. */
let least = -Infinity;
let greatest = Infinity;

/** @returns {number} the time of this device in milliseconds, as its clock was when the page was loaded */
export const ticks = () => performance.timeOrigin + performance.now();

/**
 * Note the time of an answer that no cache stored; it was written between `sent` and now, in whole seconds.
 *
 * @param {string | null} date
 * @param {number} sent the `ticks` when the request was sent
 */
export function heard(date, sent) {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return;
  const low = at - ticks();
  const high = at + 1000 - sent;
  const agrees = low <= greatest && high >= least; // else the server's clock was set, or this device slept
  least = agrees ? Math.max(least, low) : low;
  greatest = agrees ? Math.min(greatest, high) : high;
}

/** @returns {number} the time of the server in milliseconds; before its first answer, that of this device */
export const now = () => ticks() + (Number.isFinite(least) ? (least + greatest) / 2 : 0);

/** @param {string} deadline @returns {number} the seconds until a time of the server, 0 after it */
export const secondsTo = (deadline) => Math.max(0, Math.round((Date.parse(deadline) - now()) / 1000));

/** @param {number} seconds @returns {string} as on a clock: "1:12", or "23:59:10" */
export function asClock(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
