/**
 * The reader's own cards: selection by pointer, keys and drag; buttons of possible moves.
 */

import { demandText, moveInWords, seatName } from "./captions.js";
import { brief, printed, rankOf, sorted, spelled } from "./cards.js";
import { tagOf } from "./coach.js";
import { find, h, showDialog } from "./dom.js";
import { listed, t } from "./i18n.js";
import { chosenAfter, dependent, isListed, isPart, leading, listedMoves, needing, ownSeat, playOf, playable, rowsOf, stagedAfter } from "./moves.js";
import { button, picture } from "./pictures.js";
import { isCurrent } from "./presses.js";

const DRAG = 8; // pixels before a press becomes a drag

/**
 * @typedef {Object} Choice the choice of the reader that is not posted yet
 * @property {string[]} cards
 * @property {number | null} blind a face-down slot
 * @property {string[][]} staged by slot, when laying cards face-up
 */

/** @returns {Choice} */
export const noChoice = () => ({ cards: [], blind: null, staged: [] });

/** @typedef {import("./table_state.js").Game} Game the state of the page */
/** @typedef {Game & import("./viewmodel.js").Moment} Shown the state with the moment that is drawn */
/** @typedef {(move: Api["Move"]) => void} Act */
/**
 * @typedef {Object} Handlers what the reader can do
 * @property {Act} act posts a move
 * @property {(cards: string[]) => void} press a press on a card or a stack
 * @property {(slot: number) => void} blind a press on a face-down card
 * @property {() => void} make plays the choice, or asks why it cannot be played
 * @property {(cards: string[]) => void} why
 * @property {() => void} skip shows the newest view
 * @property {() => void} changed draws the page after a change of the choice
 */

/** @param {Api["Ruleset"]} ruleset */
const settingsOf = ({ settings }) => /** @type {Settings} */ (/** @type {unknown} */ (settings));

/** @param {Api["GameView"]} view of a player who has a seat */
const ownOf = (view) => /** @type {Api["SeatView"]} */ (ownSeat(view));

/** @param {Pick<Game, "view" | "ruleset">} game @returns {boolean} whether cards are being laid face-up */
export const laying = ({ view, ruleset }) =>
  view.status === "swapping" && !ownSeat(view)?.ready && (settingsOf(ruleset).deal.layout ?? "none") !== "none";

const swapping = (/** @type {Game} */ { view }) => view.status === "swapping" && !ownSeat(view)?.ready;

export const orderOf = (/** @type {Game} */ game) => settingsOf(game.ruleset).order.low_to_high;

/**
 * Handle a press on an own card; in the exchange phase a pair is exchanged at once.
 *
 * @param {Game} game
 * @param {string[]} cards one card, or a stack
 * @param {Act} act
 */
export function press(game, cards, act) {
  const { view, choice } = game;
  choice.blind = null;
  if (laying(game)) {
    const own = ownOf(view);
    const slots = choice.staged.length ? choice.staged : own.down.map(() => []);
    if (own.hand.cards?.includes(cards[0])) choice.staged = stagedAfter(slots, cards[0], null, own.up);
  } else if (swapping(game)) exchange(game, cards[0], act);
  else choice.cards = chosenAfter(view, choice.cards, cards);
}

/** @param {Game} game @param {string} card @param {Act} act */
function exchange(game, card, act) {
  const { view, choice } = game;
  const held = (/** @type {string} */ one) => ownOf(view).hand.cards?.includes(one);
  const other = choice.cards.find((one) => held(one) !== held(card));
  if (other === undefined) {
    choice.cards = choice.cards.includes(card) ? [] : [card];
    return;
  }
  const [up, hand] = held(card) ? [card, other] : [other, card];
  act({ type: "swap", up: [up], hand: [hand] });
}

/** Put a dragged card on the slot `at`: exchange it with the card there, or lay it. @param {Game} game @param {string} card @param {number} at @param {Act} act */
function drop(game, card, at, act) {
  const own = ownOf(game.view);
  if (laying(game)) {
    const slots = game.choice.staged.length ? game.choice.staged : own.down.map(() => []);
    game.choice.staged = stagedAfter(slots, card, at, own.up);
  } else if (swapping(game) && own.up[at]?.length && own.hand.cards?.includes(card)) {
    act({ type: "swap", up: [card], hand: [own.up[at][0]] });
  }
}

/**
 * Return the move of the present choice, null if there is none.
 *
 * @param {Game} game
 * @returns {Api["Move"] | null}
 */
export function chosenMove({ view, choice }) {
  if (choice.blind !== null) return { type: "play_blind", slot: choice.blind };
  if (choice.staged.some((cards) => cards.length)) return { type: "lay", stacks: choice.staged };
  if (!choice.cards.length || view.status !== "playing") return null;
  const along = listedMoves(view, "pick_up").find(
    (move) => move.with?.length && move.with.length === choice.cards.length && move.with.every((card) => choice.cards.includes(card)),
  );
  return along && !isListed(view, choice.cards) ? along : playOf(view, choice.cards);
}

/**
 * Return the buttons of the possible moves. While the game is played the first place is that of the chosen
 * cards and the second that of picking up, and neither moves: other moves are in a row above. While earlier
 * events are shown, the first place skips them and the second is empty.
 *
 * @param {Shown} game
 * @param {Handlers} handlers
 */
export function actions(game, { act, why, skip }) {
  const { view, busy } = game;
  if (game.isBehind) {
    const text = t(game.isAwaited ? "act.skip.turn" : "act.skip");
    return [h("button", { class: "skip", "data-key": "skip", onclick: skip }, [text]), h("span")];
  }
  /** @param {Api["Move"]} move @param {object} [options] @param {string | null} [words] */
  const actButton = (move, options, words) =>
    h("button", { disabled: busy, onclick: () => act(move), ...options }, [words ?? moveInWords(move, view)]);
  const single = (/** @type {"ready" | "try_stock" | "pass"} */ type, main = false) =>
    listedMoves(view, type).map((move) => actButton(move, { class: main ? "main" : "", "data-key": type }));
  if (view.status !== "playing") {
    const chosen = chosenMove(game);
    const isComplete = game.choice.staged.every((cards, at) => cards.length || ownOf(view).up[at]?.length);
    const lay = chosen ? [actButton(chosen, { class: isComplete ? "main" : "", "data-key": "chosen" })] : [];
    return [...lay, ...single("ready", !chosen)];
  }
  if (!ownSeat(view) || ownOf(view).out !== null) return [];
  const away = pickUp(game, act);
  const passes = single("pass", view.moves.every((move) => move.type === "pass"));
  const tries = single("try_stock");
  const second = away ?? passes.shift() ?? h("button", { disabled: true, "data-key": "pick_up" }, [t("act.pick_up.none")]);
  const others = [...passes, ...tries];
  for (const one of others) one.classList.add("other");
  if (away?.classList.contains("main") && !chosenMove(game)) {
    away.classList.add("only");
    return [away];
  }
  return [playButton(game, act, why), second, ...others];
}

/** The button of the chosen cards: plays them, or asks why they cannot be played. @param {Game} game @param {Act} act @param {(cards: string[]) => void} why */
function playButton(game, act, why) {
  const { view, busy, choice } = game;
  const chosen = chosenMove(game);
  const options = { "data-key": "chosen", disabled: busy, class: busy ? "sending" : "main" };
  if (!chosen) return h("button", { ...options, class: busy ? "sending" : "", disabled: true }, [busy ? t("sent") : t("act.play.none")]);
  if (busy) return h("button", options, [`${moveInWords(chosen, view)} …`]);
  if (chosen.type !== "play" || isListed(view, choice.cards)) return h("button", { ...options, onclick: () => act(chosen) }, [moveInWords(chosen, view)]);
  const key = isPart(view, chosen.cards) ? "act.why.alone" : "act.why";
  return h("button", { ...options, class: "", disabled: view.turn !== view.as, onclick: () => why(chosen.cards) }, [
    t(key, { cards: chosen.cards.map(brief).join(" ") }),
  ]);
}

/** @param {Game} game @param {Act} act */
function pickUp({ view, busy }, act) {
  const moves = listedMoves(view, "pick_up");
  if (!moves.length) return null;
  const only = view.moves.every((move) => move.type === "pick_up") ? "main" : "";
  const options = { class: only, "data-key": "pick_up", disabled: busy };
  if (moves.length === 1) return h("button", { ...options, onclick: () => act(moves[0]) }, [moveInWords(moves[0], view)]);
  return h("button", { ...options, onclick: () => chooseAlong(moves, view, act) }, [t("act.pick_up.which", { n: view.pile.length })]);
}

/**
 * Return what the reader should know before the next action, empty if nothing: while earlier events are
 * pictured, only which hidden card did not fit.
 *
 * @param {Shown} game
 * @param {string} failed the sentence on that card, if it was the reader's last action
 * @param {string} said the sentence of the coach
 */
export function hint(game, failed, said) {
  const { view, choice, waiting } = game;
  if (waiting) return t("sent.waiting");
  if (game.isBehind) return failed || said;
  const own = ownSeat(view);
  const mine = game.isMine;
  if (mine && choice.cards.length && isPart(view, choice.cards) && !isListed(view, choice.cards)) {
    return t("hint.companion", { rank: t(`rank.${rankOf(choice.cards[0])}`) });
  }
  if (failed) return failed;
  const needy = mine && !choice.cards.length ? dependent(view)[0] : undefined;
  if (needy !== undefined) return t("hint.both", { rank: t(`rank.${needy}`) });
  if (mine && view.moves.length && view.moves.every((move) => move.type === "pass")) {
    const ranks = new Set(own?.hand.cards?.map(rankOf));
    return ranks.size === 1 ? t("hint.pass.only", { rank: printed([...ranks][0]) }) : t("hint.pass");
  }
  return said;
}

/** @param {Extract<Api["Move"], {type: "pick_up"}>[]} moves @param {Api["GameView"]} view @param {Act} act */
function chooseAlong(moves, view, act) {
  const choose = (/** @type {Api["Move"]} */ move) => {
    dialog.close();
    act(move);
  };
  const dialog = h("dialog", { class: "panel", "aria-labelledby": "which-title" }, [
    h("h2", { id: "which-title" }, [t("act.pick_up.title")]),
    h("div", { class: "options" }, moves.map((move) =>
      h("button", { "aria-label": moveInWords({ ...move, with: move.with ?? [] }, view), onclick: () => choose(move) },
        move.with?.length ? move.with.map((card) => picture(card, { label: "" })) : [t("act.pick_up.alone")]),
    )),
    h("p", { class: "buttons" }, [h("button", { onclick: () => dialog.close() }, [t("close")])]),
  ]);
  showDialog(dialog);
}

/** @param {Shown} game @param {Handlers} handlers */
export function slots(game, handlers) {
  const { view, choice } = game;
  const own = ownOf(view);
  const open = swapping(game) ? new Set(own.up.flat()) : choice.cards.length ? playable(view, choice.cards) : leading(view);
  const blind = new Set(listedMoves(view, "play_blind").map((move) => move.slot));
  return own.down.map((down, at) => {
    const stack = own.up[at] ?? [];
    const staged = choice.staged[at] ?? [];
    const chosen = stack.length > 0 && stack.every((card) => choice.cards.includes(card));
    const state = `${chosen ? " chosen" : ""}${stack.some((card) => open.has(card)) ? " fits" : ""}`;
    const face = [...stack, ...staged].map((card, layer) =>
      button(card, {
        key: `card ${card}`,
        class: `layer${state}${staged.includes(card) ? " staged" : ""}`,
        label: t("own.up", { card: spelled(card), n: at + 1 }),
        pressed: chosen || staged.includes(card),
        onclick: () => handlers.press(staged.includes(card) ? [card] : view.status === "swapping" ? [card] : stack),
        tag: tagOf(game, card),
      }),
    );
    const below = !down ? null
      : blind.has(at)
        ? button(null, {
            key: `slot ${at}`,
            class: `fits${choice.blind === at ? " chosen" : ""}`,
            label: t("own.down", { n: at + 1 }),
            pressed: choice.blind === at,
            onclick: () => handlers.blind(at),
          })
        : picture(null, { label: face.length ? "" : t("own.down", { n: at + 1 }) });
    [below, ...face].forEach((one) => one?.setAttribute("data-own", one.getAttribute("data-card") || `slot ${at}`));
    return h("div", { class: "slot", "data-slot": at, "--layers": Math.max(0, face.length - 1) }, [below, ...face]);
  });
}

/**
 * Return the sorted hand, in rows that overlap if the width requires it.
 *
 * On the reader's turn a card has one of three looks: it glows if it goes with the choice, is plain if it can be played
 * but not with this choice, and is darker if it cannot be played. A card that needs another rank beside it is dashed.
 *
 * @param {Shown} game @param {Handlers} handlers
 */
export function hand(game, handlers) {
  const { view, choice } = game;
  const own = ownOf(view);
  const staged = choice.staged.flat();
  const cards = sorted(own.hand.cards ?? [], orderOf(game)).filter((card) => !staged.includes(card));
  const all = view.status === "swapping" && !own.ready ? (game.isBehind ? new Set() : new Set(cards)) : leading(view);
  const beside = choice.cards.length && view.status === "playing" ? playable(view, choice.cards) : all;
  const alone = choice.cards.length ? new Set() : needing(view);
  const can = playable(view, []);
  const fits = beside.size ? beside : all; // after a choice that fits nothing, the legal cards stay highlighted
  const looks = (/** @type {string} */ card, /** @type {boolean} */ chosen) => [
    "held",
    chosen ? "chosen" : "",
    alone.has(card) ? "needy" : fits.has(card) || (alone.size && can.has(card)) ? "fits" : "",
    game.isMine && !can.has(card) && !chosen ? "dull" : "",
    all.has(card) ? "leads" : "", // not only beside another rank
    game.leaving.has(card) ? "going" : "",
  ];
  return cards.map((card, at) => {
    const chosen = choice.cards.includes(card);
    const element = button(card, {
      key: `card ${card}`,
      class: [...looks(card, chosen), at && rankOf(cards[at - 1]) !== rankOf(card) ? "next" : ""].filter(Boolean).join(" "),
      label: can.has(card) && view.status === "playing" ? t("own.fits", { card: spelled(card) }) : spelled(card),
      pressed: chosen,
      onclick: () => handlers.press([card]),
      tag: tagOf(game, card),
    });
    element.setAttribute("data-own", card);
    return element;
  });
}

/** Choose the overlap of the hand and the margin of its rows. */
export function fitHand() {
  const element = find("#hand");
  const slots = find("#slots");
  const cards = element.querySelectorAll(".card");
  element.classList.toggle("wide", cards.length > 14);
  element.classList.toggle("many", cards.length > 24);
  for (const name of ["--left", "--right"]) element.style.removeProperty(name);
  slots.style.removeProperty("--shift");
  if (!cards.length) return;
  const width = element.clientWidth;
  const card = cards[0].getBoundingClientRect().width;
  const { step, row } = rowsOf(cards.length, width - 14, card);
  element.style.setProperty("--overlap", `${step - card}px`);
  const around = Math.max(6, (width - row) / 2 - 1);
  const beside = slots.offsetWidth > 0 && element.offsetLeft >= slots.offsetLeft + slots.offsetWidth;
  // Slots and hand are centred together, or one above the other; the shift of the slots takes no room from the hand.
  if (beside) slots.style.setProperty("--shift", `${around - 6}px`);
  element.style.setProperty("--left", `${around}px`);
  element.style.setProperty("--right", `${around + card - step}px`); // each card has the overlap at its right
}

/** Handle keys and drags: arrow keys move the focus among the own cards, Enter plays. @param {HTMLElement} area @param {Game} game @param {Handlers} handlers */
export function listen(area, game, handlers) {
  area.addEventListener("keydown", (event) => keys(event, area, game, handlers));
  area.addEventListener("pointerdown", (event) => startDrag(event, game, handlers));
}

/** @param {Event} event @param {string} selector @returns {HTMLElement | null} the nearest element around the event's target that matches */
const closest = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);

/** @param {KeyboardEvent} event @param {HTMLElement} area @param {Game} game @param {Handlers} handlers */
function keys(event, area, game, handlers) {
  const card = closest(event, "button[data-own]");
  if (!card) return;
  /** @type {HTMLElement[]} */
  const all = Array.from(area.querySelectorAll("button[data-own]"));
  const now = all.indexOf(card);
  /** @type {Record<string, number>} */
  const steps = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: all.length - 1 };
  if (event.key in steps) {
    event.preventDefault();
    all.at(steps[event.key] % all.length)?.focus();
  } else if (event.key === "Enter" && !laying(game) && game.view.status === "playing") {
    event.preventDefault();
    if (card.getAttribute("aria-pressed") !== "true") card.click();
    handlers.make();
  } else if (/^[1-9]$/.test(event.key) && game.view.status === "swapping") {
    drop(game, card.dataset.own ?? "", Number(event.key) - 1, handlers.act);
    handlers.changed();
  }
}

/** @param {PointerEvent} event @param {Game} game @param {Handlers} handlers */
function startDrag(event, game, handlers) {
  const card = closest(event, "button[data-own]");
  if (!card || event.button !== 0 || game.busy || game.shown !== game.view) return;
  const code = card.dataset.own ?? "";
  const begin = { x: event.clientX, y: event.clientY };
  /** @type {HTMLElement | null} */
  let ghost = null;
  const stop = new AbortController();
  const move = (/** @type {PointerEvent} */ now) => {
    if (!ghost && Math.hypot(now.clientX - begin.x, now.clientY - begin.y) < DRAG) return;
    if (!ghost) {
      game.dragging = true;
      if (game.view.status === "playing" && !game.choice.cards.includes(code) && !code.startsWith("slot")) handlers.press([code]);
      const shown = game.choice.cards.includes(code) ? game.choice.cards : [code];
      ghost = h("div", { class: "ghost" }, shown.map((one) => picture(one.startsWith("slot") ? null : one, { label: "" })));
      document.body.append(ghost);
    }
    ghost.style.setProperty("transform", `translate(${now.clientX}px, ${now.clientY}px) translate(-50%, -60%)`);
  };
  const end = (/** @type {PointerEvent} */ now) => {
    stop.abort();
    if (!ghost) return;
    ghost.remove();
    game.dragging = false;
    addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
    const under = now.type === "pointerup" ? document.elementFromPoint(now.clientX, now.clientY) : null;
    const slot = under?.closest("[data-slot]")?.getAttribute("data-slot");
    if (!isCurrent()) handlers.changed(); // the card belongs to a state that is no longer shown
    else if (slot) drop(game, code, Number(slot), handlers.act);
    else if (under?.closest("#middle, #others") && game.view.status === "playing") {
      if (code.startsWith("slot")) handlers.blind(Number(code.slice(5)));
      handlers.make();
    }
    handlers.changed();
  };
  addEventListener("pointermove", move, { signal: stop.signal });
  addEventListener("pointerup", end, { signal: stop.signal });
  addEventListener("pointercancel", end, { signal: stop.signal });
}

const swallow = (/** @type {Event} */ event) => {
  event.stopPropagation();
  event.preventDefault();
};

/**
 * Return a sentence on the possible actions of the reader, or on the seats that must act; empty if there is nothing to say
 * yet. While earlier events are shown, the reader is asked for nothing.
 *
 * @param {Pick<Shown, "view" | "isBehind" | "ruleset">} game
 * @returns {string}
 */
export function situation(game) {
  const { view, isBehind } = game;
  const own = ownSeat(view);
  const names = (/** @type {Api["SeatView"][]} */ some) => listed(some.map((seat) => (seat.seat === view.as ? t("you.awaited") : seatName(seat))));
  switch (view.status) {
    case "shuffling": {
      const missing = (view.setup ?? []).filter((one) => ["waiting", "committed"].includes(one.state));
      const who = names(missing.map((one) => view.seats[one.seat]));
      return who ? t("now.shuffling", { who }) : "";
    }
    case "swapping": {
      if (own && !own.ready && !isBehind) return t(!laying(game) ? "now.swap" : own.up.flat().length ? "now.laid" : "now.lay");
      const who = names(view.seats.filter((seat) => !seat.ready && !(isBehind && seat === own)));
      return who ? t("now.waiting", { who }) : "";
    }
    case "playing": {
      const demand = demandText(view.demand, { aloud: true });
      if (own && view.turn === view.as) {
        if (isBehind) return "";
        return t(view.moves.some((move) => move.type === "play_blind") ? "now.blind" : "now.yours", { demand });
      }
      if (view.seats.filter((seat) => seat.out === null).length < 2) return ""; // the hand is over
      if (view.turn === null) return isBehind ? "" : t(view.moves.length ? "now.begin" : "now.open");
      const who = seatName(view.seats[view.turn]);
      return t(view.moves.length ? "now.follow" : "now.theirs", { who });
    }
    default:
      return "";
  }
}
