/** Playback of a hand: buttons, speeds, keys, and the time between events. */

import { find, h, replace, svg } from "./dom.js";
import { t } from "./i18n.js";

/** @type {Record<string, number>} */
const SPEEDS = { "0.5": 2000, 1: 1000, 2: 500, 4: 250, 8: 125, real: 0 }; // milliseconds an event
const PAUSES = [150, 5000]; // the shortest and the longest pause at the original speed, in milliseconds
const FLYING = 500; // the shortest pause with moving cards, in milliseconds
const STEP = 2000; // milliseconds in which a single step is shown at the latest

const ICONS = {
  first: "M5 5v14M19 5v14L8 12z", back: "M16 5v14L6 12z", play: "M7 4v16l13-8z", pause: "M7 5v14M17 5v14",
  forward: "M8 5v14l10-7z", last: "M19 5v14M5 5v14l11-7z",
}; // prettier-ignore

const icon = (/** @type {keyof typeof ICONS} */ key) =>
  svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, [svg("path", { d: ICONS[key] })]);

/** @param {keyof typeof ICONS} key @param {() => void} onclick */
const control = (key, onclick) =>
  h("button", { type: "button", id: key, "aria-label": t(`replay.${key}`), title: t(`replay.${key}`), onclick }, [icon(key)]);

/**
 * @typedef {Object} Source the replay that is played back
 * @property {() => number} version shown now
 * @property {() => number} last
 * @property {(version: number) => number} time of its event, in milliseconds
 * @property {(version: number, moving?: boolean) => void} go show a version; moving: cards may fly
 */

/**
 * Return the playback of a replay: its buttons, its key handler, and `step`, which stops it.
 *
 * @param {Source} source
 */
export function playback({ version, last, time, go }) {
  let playing = false;
  let speed = "1";
  let timer = 0;

  function play(on = !playing) {
    clearTimeout(timer);
    playing = on;
    if (on && version() === last()) go(1);
    if (on) scheduleNext();
    const button = find("#play");
    button.setAttribute("aria-label", t(on ? "replay.pause" : "replay.play"));
    replace(button, icon(on ? "pause" : "play"));
  }

  /** Milliseconds until the next event. */
  function pause() {
    const gap = time(Math.min(last(), version() + 1)) - time(version());
    return SPEEDS[speed] || Math.min(PAUSES[1], Math.max(PAUSES[0], gap));
  }

  function scheduleNext() {
    const wait = pause();
    timer = setTimeout(() => {
      if (version() === last()) return play(false);
      go(version() + 1, wait >= FLYING);
      scheduleNext();
    }, wait);
  }

  const stop = () => {
    if (playing) play(false);
  };

  /** @param {number} to */
  function step(to) {
    stop();
    go(to, true);
  }

  /** @param {KeyboardEvent} event */
  function keys(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.altKey || event.ctrlKey || event.metaKey || target.closest("select, textarea, dialog, input:not([type=range])")) return;
    const range = target.matches("input[type=range]");
    /** @type {Record<string, number>} */
    const moves = { ArrowRight: version() + 1, ArrowLeft: version() - 1, Home: 1, End: last() };
    if (target.closest("#rows")) Object.assign(moves, { ArrowDown: version() + 1, ArrowUp: version() - 1 });
    if (event.key in moves && !range) {
      event.preventDefault();
      step(moves[event.key]);
      if (target.closest("#rows")) find("#rows [aria-current]").focus({ preventScroll: true });
    } else if (event.key === " " && !target.closest("button, a, summary")) {
      event.preventDefault();
      play();
    }
  }

  function controls() {
    const speeds = h("select", { id: "speed", "aria-label": t("replay.speed"), onchange: () => (speed = speeds.value) }, [
      ...Object.keys(SPEEDS).map((key) => h("option", { value: key, selected: key === speed || null }, [key === "real" ? t("replay.speed.real") : `${key}×`])),
    ]);
    return h("div", { id: "controls", role: "group", "aria-label": t("replay.controls"), "aria-describedby": "keys" }, [
      control("first", () => step(1)),
      control("back", () => step(version() - 1)),
      control("play", () => play()),
      control("forward", () => step(version() + 1)),
      control("last", () => step(last())),
      speeds,
      h("output", { id: "position" }),
      h("span", { id: "keys", class: "quiet" }, [t("replay.keys")]),
    ]);
  }

  return { controls, keys, step, stop, isPlaying: () => playing, pause: () => (playing ? pause() * 0.9 : STEP) };
}
