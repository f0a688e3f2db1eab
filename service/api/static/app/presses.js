/**
 * Presses on the table: each belongs to the state that was shown when it began.
 *
 * Presses of one key, or at one place, without a pause between them are one series: the time is too short to
 * see a new state and decide. A series began in one state, and what it would do in another one is not done.
 */

const PAUSE = 700; // milliseconds without a press that end a series
const APART = 12; // pixels by which the pointer leaves the place of a series

/** What is shown to the reader, as a text. @type {() => string} */
let shownNow = () => "";
let series = { what: "", state: "", at: -Infinity, x: 0, y: 0 };
let isSwallowed = false; // whether the key that is down is ignored

/** Note a press. @param {string} what a key, or "pointer" @param {boolean} isAgain whether it is at the place of the series @param {{x: number, y: number}} [place] */
function begin(what, isAgain, { x, y } = series) {
  const at = performance.now();
  const goesOn = what === series.what && isAgain;
  series = goesOn ? { ...series, at } : { what, state: shownNow(), at, x, y };
}

/** Whether the press that was begun last is still for the state that is shown. */
export const isCurrent = () => series.state === shownNow();

const isSoon = () => performance.now() - series.at < PAUSE;
const isNear = (/** @type {PointerEvent} */ { x, y }) => Math.hypot(x - series.x, y - series.y) < APART;

/** Whether an event is for the table, not for a dialog, a menu or a field. @param {Event} event */
const isForTable = ({ target }) =>
  target === document.body || (target instanceof Element && Boolean(target.closest("#felt")) && !target.closest(".more, .refusal"));

/** @param {Event} event */
function swallow(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Ignore from now on the presses that were meant for an earlier state. @param {() => string} shown the state, as a text */
export function guardPresses(shown) {
  shownNow = shown;
  addEventListener("pointerdown", (event) => begin("pointer", isSoon() && isNear(event), event), { capture: true });
  addEventListener("pointermove", (event) => {
    if (series.what === "pointer" && !event.buttons && !isNear(event)) series.at = -Infinity;
  }, { capture: true, passive: true });
  addEventListener("click", (event) => {
    // A click without a press of the pointer comes from a key, or from a program that reads the page aloud.
    if (event.detail > 0 && series.what === "pointer" && !isCurrent() && isForTable(event)) swallow(event);
  }, { capture: true });
  addEventListener("keydown", (event) => {
    if (event.key === "Tab") return void (isSwallowed = false); // it moves the focus, and plays nothing
    begin(event.key, event.repeat || isSoon());
    isSwallowed = !isCurrent() && isForTable(event);
    if (isSwallowed) swallow(event);
  }, { capture: true });
  addEventListener("keyup", (event) => isSwallowed && swallow(event), { capture: true });
}
