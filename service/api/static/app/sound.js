/** Five short sounds made by Web Audio, off until the reader switches them on. */

import { read, remove, write } from "./storage.js";

const SETTING = "shithead.sound";
/** The notes of each sound: frequency in hertz, begin and length in seconds. @type {Record<string, [number, number, number][]>} */
const SOUNDS = {
  card: [[420, 0, 0.05]],
  pick_up: [[300, 0, 0.09], [240, 0.08, 0.09], [190, 0.16, 0.14]],
  burn: [[620, 0, 0.08], [830, 0.07, 0.1], [1100, 0.15, 0.2]],
  turn: [[660, 0, 0.11], [880, 0.12, 0.16]],
  end: [[523, 0, 0.15], [659, 0.15, 0.15], [784, 0.3, 0.3]],
}; // prettier-ignore
/** @type {Record<string, string>} */
const OF_EVENTS = {
  cards_played: "card", cards_thrown: "card", pile_picked_up: "pick_up", blind_failed: "pick_up", stock_failed: "pick_up",
  pile_burned: "burn", game_ended: "end",
}; // prettier-ignore

/** @type {AudioContext | null} */
let context = null;

export const isSounding = () => read(SETTING) === "on";

/** Switch the sounds on or off, after a press: browsers start no sound without one. @param {boolean} on */
export function setSound(on) {
  if (on) write(SETTING, "on");
  else remove(SETTING);
  if (on) play("turn");
}

/** @param {string} sound */
function play(sound) {
  if (typeof AudioContext === "undefined") return;
  context ??= new AudioContext();
  context.resume().catch(() => {});
  for (const [pitch, begin, length] of SOUNDS[sound]) {
    const tone = context.createOscillator();
    const volume = context.createGain();
    const from = context.currentTime + begin;
    tone.type = "triangle";
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.0001, from);
    volume.gain.exponentialRampToValueAtTime(0.12, from + 0.01);
    volume.gain.exponentialRampToValueAtTime(0.0001, from + length);
    tone.connect(volume).connect(context.destination);
    tone.start(from);
    tone.stop(from + length + 0.02);
  }
}

/** Sound that it is the reader's turn. */
export const chime = () => isSounding() && play("turn");

/** Let events sound as they are shown. @param {Api["Event"][]} events @param {boolean} turn whether the turn came to the reader */
export function sound(events, turn) {
  if (!isSounding()) return;
  const heard = events.map(({ type }) => OF_EVENTS[type]).filter(Boolean).at(-1);
  if (heard) play(heard);
  if (turn && heard !== "end") setTimeout(() => play("turn"), heard ? 250 : 0);
}
