/**
 * Another line of a finished hand: moves that were not made, tried with the real deck.
 *
 * The server computes each line from its moves and stores nothing, so the moves stand in the address
 * of the page. What is shown here is hypothetical, and says so.
 */

import { call, newest } from "./api.js";
import { caption, marked, moveInWords, resultText, seatName } from "./captions.js";
import { announce, h, replace } from "./dom.js";
import { t } from "./i18n.js";

/** The bot that plays a line on. */
const BOT = "greedy";

/** @typedef {{at: number, moves: Api["LineMove"][], then: string | null}} Wanted a line, as it is requested */

/**
 * @typedef {Object} Room what this module needs of the replay room
 * @property {string} id the game
 * @property {() => string} as the viewer
 * @property {() => Api["GameView"]["seats"]} seats with names
 * @property {() => Api["Result"] | null} result of the hand that was played
 * @property {(at: number) => void} opened called once the first event of a line takes the place of the event `at`
 * @property {() => HTMLElement} share a button that shares the line
 * @property {(view: Api["GameView"], events: Api["LineEvent"][]) => void} board show a view after events
 * @property {() => void} changed called after the line was opened, changed or closed
 * @property {(problem: any) => void} report
 */

/** @param {string | null} text of the address @returns {Wanted | null} the line that it names */
export function lineOf(text) {
  try {
    const [at, moves, then] = JSON.parse(text ?? "null");
    return Number.isInteger(at) && Array.isArray(moves) ? { at, moves: moves.map(([seat, move]) => ({ seat, move })), then: then ? BOT : null } : null;
  } catch {
    return null;
  }
}

/** @param {Api["Result"] | null} result @param {number} seat @returns {string | null} the place of a seat in words, null if it has none */
function placeOf(result, seat) {
  const at = result?.places.indexOf(seat) ?? -1;
  if (result?.shithead === seat) return t("line.last");
  return at < 0 ? null : at === 0 ? t("line.first") : t("seat.place", { n: at + 1 });
}

/** @param {Room} room */
export function otherLine(room) {
  /** @type {Wanted | null} */
  let wanted = null;
  /** @type {Api["WhatIf"] | null} */
  let line = null;
  let step = 0; // the frame of the line that is shown, from 1; 0 is where the line begins
  const load = newest();

  const who = (/** @type {number} */ seat) => seatName(room.seats()[seat]);
  const voice = () => ({ aloud: false, who });

  /** Compute a line and show it from its new moves on. @param {Wanted} next */
  async function open(next) {
    const known = line?.at === next.at ? line.frames.length : 0;
    const isNewest = load();
    try {
      const found = await call("POST", `/v1/games/${room.id}/what-if`, { body: { ...next, as: room.as() } });
      if (!isNewest()) return;
      if (line?.at !== next.at) room.opened(next.at);
      wanted = next;
      line = found;
      step = Math.min(found.frames.length, next.then && known < found.frames.length ? known + 1 : found.frames.length);
    } catch (problem) {
      return isNewest() && room.report(problem);
    }
    room.changed();
    announce(spoken());
  }

  function close() {
    load();
    wanted = line = null;
    step = 0;
    room.changed();
  }

  /** @param {number} to */
  function go(to) {
    step = Math.max(0, Math.min(line?.frames.length ?? 0, to));
    room.changed();
    announce(spoken());
  }

  /** The moves of the line up to the step that is shown. */
  const made = () => (line?.moves ?? []).filter((one) => one.version <= (line?.at ?? 0) + step).map(({ seat, move }) => ({ seat, move }));

  /** @param {number} seat @param {Api["Move"]} move */
  const play = (seat, move) => line && open({ at: line.at, moves: [...made(), { seat, move }], then: null });

  const frame = () => line?.frames[step - 1];
  const spoken = () => (frame() ? caption(/** @type {any} */ (frame()).event, { ...voice(), aloud: true }) : t("line.begin"));

  /** The place at the end of the line beside that in the hand, of the seat that the line is about. */
  function compared() {
    const seat = line?.moves[0]?.seat;
    const result = line?.view.result;
    if (seat === undefined || !result) return null;
    const [then, fact] = [placeOf(result, seat), placeOf(room.result(), seat)];
    const whole = then === null || fact === null; // an end without places, such as a stalemate
    const words = (/** @type {Api["Result"] | null} */ one) => (one ? resultText(one, voice()) : t("result.none"));
    return h("p", { class: "compared" }, [
      whole ? null : [h("b", { translate: "no" }, [who(seat)]), ": "],
      t("line.compared", whole ? { then: words(result), fact: words(room.result()) } : { then, fact }),
    ]);
  }

  /** Show the line on the board, and its controls in a place. @param {Element} place */
  function show(place) {
    if (!line || !wanted) return;
    const { at, frames, legal, view } = line;
    const shown = frame()?.view ?? (frames.length ? null : view);
    if (shown) room.board(shown, frames.slice(0, step).map((one) => one.event));
    const atEnd = step === frames.length;
    const key = (/** @type {string} */ name, /** @type {() => void} */ act, off = false) => h("button", { type: "button", "data-key": `line ${name}`, disabled: off || null, onclick: act }, [t(`line.${name}`)]);
    const event = frame()?.event;
    const said = event ? caption(/** @type {any} */ (event), voice()) : "";
    /** The result, unless the last event states it. */
    const ending = () => {
      const result = atEnd && view.result ? resultText(view.result, voice()) : "";
      return result && result !== said ? ` ${result}` : "";
    };
    replace(
      place,
      h("div", { class: "what-if" }, [
        h("p", { class: "what", role: "status" }, [
          h("b", { class: "hypothetical" }, [t("line.hypothetical", { n: at })]),
          " ",
          h("strong", null, event ? marked(said, room.seats().map(seatName)) : [t("line.begin")]),
          ending(),
        ]),
        h("div", { class: "act", role: "group", "aria-label": t("line.controls") }, [
          h("button", { type: "button", "data-key": "line back", "aria-label": t("line.back"), disabled: step === 0 || null, onclick: () => go(step - 1) }, ["‹"]),
          h("button", { type: "button", "data-key": "line forward", "aria-label": t("line.forward"), disabled: atEnd || null, onclick: () => go(step + 1) }, ["›"]),
          atEnd ? null : key("end", () => go(frames.length)),
          atEnd && legal.length ? key("bots", () => open({ at, moves: made(), then: BOT })) : null,
          key("close", close),
          room.share(),
        ]),
        atEnd ? compared() : null,
        atEnd && legal.length ? h("ul", { class: "could" }, legal.flatMap(({ seat, moves }) => moves.map((move) => h("li", null, [
          h("button", { type: "button", "data-key": `line ${seat} ${JSON.stringify(move)}`, onclick: () => play(seat, move) }, [`${who(seat)}: ${moveInWords(move, view)}`]),
        ])))) : null,
        h("p", { class: "quiet" }, [t("line.caveat")]),
      ]),
    );
  }

  return {
    open,
    close,
    show,
    /** Forget a line that is being computed. */
    cancel: () => void load(),
    isOpen: () => line !== null,
    /** The line as the address has it, "" without one. */
    address: () => (wanted ? JSON.stringify([wanted.at, wanted.moves.map(({ seat, move }) => [seat, move]), wanted.then ? 1 : 0]) : ""),
  };
}
