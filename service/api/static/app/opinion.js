/**
 * A bot's opinion of a finished hand: curves of the seats' chances, and the largest mistakes.
 *
 * It is an opinion and no evidence; the server computes it on request.
 */

import { get } from "./api.js";
import { moveInWords } from "./captions.js";
import { brief } from "./cards.js";
import { attemptButton } from "./decision.js";
import { h, replace, svg } from "./dom.js";
import { language, t } from "./i18n.js";
import { DASHES, WIDTH, lane } from "./timeline.js";

const MAX_MISTAKES = 3; // maximum number of mistakes that are marked and listed

/** A move without the verb of its button. @param {Api["Move"]} move @param {Api["GameView"]} saw */
const moveText = (move, saw) => (move.type === "play" ? move.cards.map(brief).join(" ") : moveInWords(move, saw));

const percent = (/** @type {number} */ share) => new Intl.NumberFormat(language, { style: "percent" }).format(share);

/** @typedef {{first: number, seat: number, saw: Api["GameView"], made: Judgement, best: Judgement}} Judged a move and the best one, each with its chance */
/** @typedef {Api["Judgement"]} Judgement */

/**
 * Fetch the opinion of each move, one after another, and show those fetched so far.
 *
 * @param {string} id the game
 * @param {Api["Frame"][]} frames of its replay
 * @param {Element} place
 * @param {import("./decision.js").Replay} replay
 */
export async function judge(id, frames, place, replay) {
  /** @type {Judged[]} */
  const found = [];
  let seq = frames.findIndex(({ view }) => view.status === "playing") + 1;
  while (seq > 0 && seq < frames.length) {
    const { opinion, seat, saw, first, last } = await get(`/v1/games/${id}/audit/moves/${seq}?opinion=true`);
    const made = opinion?.moves.find((one) => one.made);
    if (opinion && made && saw && seat !== null) found.push({ first, seat, saw, made, best: opinion.moves[0] });
    seq = last + 1;
    if (found.length) replace(place, ...plot(found, frames.length, replay), seq < frames.length ? h("progress", { max: frames.length, value: seq }) : null);
  }
  if (!found.length) replace(place, h("p", { class: "quiet" }, [t("replay.opinion.none")]));
}

/** @param {Judged[]} found @param {number} length of the log @param {import("./decision.js").Replay} replay */
function plot(found, length, replay) {
  const x = (/** @type {number} */ at) => Math.round((at / Math.max(1, length - 1)) * WIDTH);
  const y = (/** @type {number} */ chance) => Math.round(98 - chance * 96);
  const loss = (/** @type {Judged} */ one) => one.best.chance - one.made.chance;
  const clear = found.filter((one) => one.best.low > one.made.high);
  const worst = clear.sort((a, b) => loss(b) - loss(a)).slice(0, MAX_MISTAKES);
  const seats = [...new Set(found.map((one) => one.seat))];
  return [
    h("p", { class: "quiet" }, [t("replay.opinion.what")]),
    lane("opinion", 100, t("replay.opinion.chance"), [
      ...seats.map((seat) => svg("path", { class: "hand-line", "--seat": seat, "stroke-dasharray": DASHES[seat % 4], d: `M${found.filter((one) => one.seat === seat).map((one) => `${x(one.first)} ${y(one.made.chance)}`).join("L")}` })),
      svg("path", { class: "picks", d: worst.map((one) => `M${x(one.first)} ${y(one.best.chance)}V${y(one.made.chance)}`).join("") }),
    ]),
    h("ol", { class: "quiet" }, worst.map((one) =>
      h("li", null, [
        h("button", { type: "button", class: "plain", "data-key": `mistake ${one.first}`, onclick: () => replay.go(one.first + 1) }, [String(one.first)]),
        " ", h("b", { translate: "no" }, [replay.who(one.seat)]), ": ",
        t("replay.opinion.compared", { made: moveText(one.made.move, one.saw), p: percent(one.made.chance), best: moveText(one.best.move, one.saw), q: percent(one.best.chance) }),
        " ",
        attemptButton(one.seat, one.best.move, one.first, replay),
      ]),
    )),
  ];
}
