/** The running table of the lobby: its seats, its pile, and a recorded hand in motion while no hand is played. */

import { avatar } from "./avatars.js";
import { seatName } from "./captions.js";
import { find, h, reducesMotion, replace } from "./dom.js";
import { t } from "./i18n.js";
import { picture } from "./pictures.js";

const FACES = 8; // seats for which there is room, or one fewer and the number of the others
const SHOWN = 4; // cards of the pile
const PACE = 1400; // milliseconds a move of the recorded hand

/**
 * The last moves of a recorded hand of three seats, the sample `leeds` of the record, as the public saw them.
 *
 * A word a move: the seat on turn, the number of cards in each hand (base 36), the uppermost cards of the pile.
 */
const RECORDED = `
03558c8d 12558c8d8h 12458c8d8h8s 1245 0215JcJhJs 2515 1514Kd 0524 24243h 14233hQd 04133hQdKd 2713 17129d 0722
26229h 16219h9c 06119h9c9d 25119h9c9dQd 15109c9dQdQc 0560 1260JcJhJs 2240JhJsQcQd 0246 11463h 21363h9c
11339cJcJhJs 0183 2083Kd 1084 0064JcJh 2064JcJh2s 1063JcJh2sKd 20a3 10a29s 20729sJcJhJs -070JhJsQcQd
`.trim().split(/\s+/);

/** What a scene shows of a hand. @typedef {{seats: any[], turn: number | null, pile: (string | null)[]}} Scene */

/** Return the elements of a scene: faces with their number of cards, the pile, a sentence. @param {Scene} scene @param {string} text */
export function scene({ seats, turn, pile }, text) {
  const isMany = seats.length > 4; // there is room for two rows
  const shown = seats.length > FACES ? FACES - 1 : FACES;
  const last = pile.length ? pile.slice(-SHOWN) : [null];
  return [
    h("ul", { class: `faces${isMany ? " many" : ""}` }, [
      ...seats.slice(0, shown).map((seat) =>
        h("li", { class: turn === seat.seat ? "turn" : "" }, [
          avatar(seat, seat.player), h("span", { class: isMany ? "unseen" : "name", translate: "no" }, [seatName(seat)]), h("b", null, [seat.hand.count]),
        ])),
      shown < seats.length ? h("li", null, [`+${seats.length - shown}`]) : null,
    ]),
    h("div", { class: "fan", "aria-hidden": "true" }, last.map((card, at) => h("span", { class: "fanned", "--at": at - (last.length - 1) / 2 }, [picture(card, { label: "" })]))),
    h("p", { class: "small" }, [text]),
  ];
}

/** @param {string} word of the recorded hand @returns {Scene} */
function read(word) {
  const [, turn, counts, cards] = /** @type {string[]} */ (/^(.)(.{3})(.*)$/.exec(word));
  const seats = [...counts].map((count, seat) => ({ seat, kind: "seat", name: null, player: `recorded ${seat}`, hand: { count: parseInt(count, 36) } }));
  return { seats, turn: turn === "-" ? null : Number(turn), pile: cards.match(/../g) ?? [] };
}

let timer = 0;
let at = 0;
let isStopped = reducesMotion();

/** Show the recorded hand, and let it run unless it was stopped or the reader prefers less motion. */
export function showRecorded() {
  if (document.querySelector("#running .stop")) return;
  draw();
  run();
}

/** End the recorded hand: a hand is played. */
export function endRecorded() {
  clearInterval(timer);
  timer = 0;
}

function run() {
  if (isStopped) return;
  timer = setInterval(() => {
    if (document.hidden) return;
    at = (at + 1) % RECORDED.length;
    draw();
  }, PACE);
}

function draw() {
  const toggle = h("button", { class: "stop", "data-key": "stop", "aria-label": t(isStopped ? "running.go" : "running.pause"), onclick: () => {
    isStopped = !isStopped;
    endRecorded();
    run();
    draw();
  } }, [isStopped ? "▶" : "❚❚"]);
  replace(find("#running"), ...scene(read(RECORDED[at]), t("running.none")), toggle);
}
