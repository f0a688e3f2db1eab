/**
 * Functions of the page modules that need no page: cases on the input, one JSON answer on the output.
 *
 *     node tests/web/page_modules.js < cases.json
 *
 * The modules read the reader's language when they are loaded, so a browser's globals stand in.
 */

import { readFileSync } from "node:fs";

Object.assign(globalThis, { localStorage: { getItem: () => null }, fetch: () => Promise.reject(new Error("none")) });
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en"] } });
const moves = await import(new URL("../../service/api/static/app/moves.js", import.meta.url).href);

const own = await import(new URL("../../service/api/static/app/own.js", import.meta.url).href);

const { sorted } = await import(new URL("../../service/api/static/app/cards.js", import.meta.url).href);

const { story } = await import(new URL("../../service/api/static/app/story.js", import.meta.url).href);

/** Whether a page is behind before, while and after it shows its only event. */
async function behind() {
  let end = () => {};
  const stage = () => new Promise((/** @type {(value?: undefined) => void} */ done) => void (end = done));
  const events = story({ show: () => {}, time: () => 10, stage, tempo: () => 1 });
  const before = events.isBehind();
  const run = events.push([{ view: {} }]);
  const meanwhile = events.isBehind();
  end();
  await run;
  return [before, meanwhile, events.isBehind()];
}

/** @typedef {[number, string, string, string, Record<string, unknown>]} Step the time, the state that is shown, the type and place of an event, and more of it */

/** Whether each of some presses is swallowed. @param {Step[]} steps @returns {Promise<boolean[]>} */
async function swallowed(steps) {
  /** @type {Record<string, (event: unknown) => void>} */ const handlers = {};
  let [now, state] = [0, ""];
  class Place {
    constructor(/** @type {string} */ names) {
      this.names = names.split(" ");
    }
    closest(/** @type {string} */ selectors) {
      return selectors.split(", ").some((one) => this.names.includes(one)) ? this : null;
    }
  }
  const body = {};
  Object.assign(globalThis, { Element: Place, document: { body }, addEventListener: (/** @type {string} */ type, /** @type {() => void} */ does) => void (handlers[type] = does) });
  Object.defineProperty(globalThis, "performance", { value: { now: () => now } });
  const { guardPresses } = await import(new URL("../../service/api/static/app/presses.js", import.meta.url).href);
  guardPresses(() => state);
  return steps.map(([at, shown, type, place, more]) => {
    [now, state] = [at, shown];
    let is = false;
    const target = place ? new Place(place) : body;
    const stop = { preventDefault: () => {}, stopImmediatePropagation: () => void (is = true) };
    handlers[type]({ x: 100, y: 50, key: "", detail: 1, buttons: 0, repeat: false, target, ...stop, ...more });
    return is;
  });
}

const { view, choices, rows, turned = [], presses = [], made = [], staged = [], hands = [], pressed = [] } = JSON.parse(readFileSync(0, "utf8"));
const answer = {
  leading: [...moves.leading(view)].sort(),
  dependent: moves.dependent(view),
  needing: [...moves.needing(view)].sort(),
  turned: turned.map((/** @type {[any, any]} */ [before, after]) => moves.turnedCard(before, after)),
  choices: choices.map((/** @type {string[]} */ chosen) => ({
    listed: moves.isListed(view, chosen),
    part: moves.isPart(view, chosen),
    beside: [...moves.playable(view, chosen)].sort(),
  })),
  presses: presses.map((/** @type {[string[], string[]]} */ [chosen, pressed]) => moves.chosenAfter(view, chosen, pressed)),
  made: made.map((/** @type {string[]} */ cards) => own.chosenMove(/** @type {any} */ ({ view, choice: { ...own.noChoice(), cards } }))),
  staged: staged.map((/** @type {[string[][], string, number | null, string[][]]} */ words) => moves.stagedAfter(...words)),
  sorted: hands.map((/** @type {[string[], string[]]} */ [cards, order]) => sorted(cards, order)),
  behind: await behind(),
  rows: rows.map((/** @type {[number, number, number]} */ [count, width, card]) => moves.rowsOf(count, width, card)),
  swallowed: await swallowed(pressed),
};
process.stdout.write(JSON.stringify(answer));
