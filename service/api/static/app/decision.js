/**
 * Panels of the replay: the decision behind a move, and the path of a card.
 *
 * Both show answers of the audit. Statements of the rules and reasons are in English.
 */

import { caption, demandText, moveInWords } from "./captions.js";
import { sorted, spelled } from "./cards.js";
import { h } from "./dom.js";
import { listed, t } from "./i18n.js";
import { picture } from "./pictures.js";
import { isSame } from "./same_move.js";
import { secondsText } from "./timeline.js";
import { worded } from "./worded.js";

/**
 * @typedef {Object} Replay the data and functions of the page that the panels use
 * @property {(seat: number) => string} who the name of a seat
 * @property {(rule: string) => string} statement the text of a rule, "" if it is not known yet
 * @property {string} rules the address of the rules page
 * @property {(version: number, as?: string) => void} go show a version, as a viewer saw it
 * @property {(card: string) => void} follow show a card's path
 * @property {(as: string) => boolean} may whether a viewer's replay can be shown
 * @property {((seat: number, move: Api["Move"], seq: number) => void) | null} attempt try another move before the event `seq`; null before the end of the hand
 * @property {Api["Frame"][]} frames
 * @property {(version: number, seat: number) => Api["Knowledge"] | null | undefined} knowledge the knowledge of a seat, null until it is loaded
 * @property {boolean} knows whether the knowledge is shown
 * @property {(on: boolean) => void} know show or hide the knowledge
 */

/** @param {string} id @param {Replay} replay @returns {HTMLElement} a link to a statement, with its text as the title */
export const ruleLink = (id, replay) =>
  h("a", { class: "rule", href: `${replay.rules}#${id}`, target: "_blank", rel: "noopener", title: replay.statement(id) || null }, [id]);

/** @param {string[]} rules @param {Replay} replay @returns {HTMLElement[]} statements with their links */
export const statements = (rules, replay) =>
  rules.map((id) => h("p", { class: "statement", lang: "en" }, [ruleLink(id, replay), " ", replay.statement(id)]));

/** @param {string[]} rules @param {Replay} replay */
const links = (rules, replay) => h("span", { class: "rules", lang: "en" }, rules.map((id) => ruleLink(id, replay)));

/** A card as a button that shows its path. @param {string} code @param {Replay} replay */
const card = (code, replay, note = "") =>
  h("button", { type: "button", class: "card", "aria-label": [spelled(code), note].filter(Boolean).join(", "), title: note || null, "data-card": code, onclick: () => replay.follow(code) }, [
    picture(code, { label: "" }).firstChild,
  ]);

/** @param {string[]} codes @param {Replay} replay @param {(code: string) => string | undefined} [note] */
const cards = (codes, replay, note = () => "") =>
  codes.length ? h("p", { class: `cardrow${codes.length > 8 ? " many" : ""}` }, codes.map((code) => card(code, replay, note(code)))) : h("p", { class: "quiet" }, [t("no.cards")]);

/** @param {string} title @param {any[]} content */
const section = (title, ...content) => h("section", null, [h("h3", null, [title]), ...content]);

/**
 * Return the decision behind a move.
 *
 * @param {Api["Decision"]} decision
 * @param {Replay} replay
 */
export function decisionPanel(decision, replay) {
  const { first, last, seat, saw, did, legal, refused } = decision;
  const who = seat === null ? "" : replay.who(seat);
  const facts = [
    t("replay.events.of", { first, last, n: last - first + 1 }),
    decision.milliseconds !== null && seat !== null ? t("replay.took", { time: secondsText(decision.milliseconds) }) : "",
    decision.timed_out ? t("replay.late") : "",
  ];
  return [
    h("p", { class: "quiet" }, [facts.filter(Boolean).join(" · ")]),
    seat === null ? h("p", null, [t("replay.server")]) : null,
    seat !== null && did && !saw ? h("p", null, [t("replay.private")]) : null,
    saw && did && refused?.length ? attempts(decision, refused, saw, replay) : null,
    saw && did && seat !== null ? seen(saw, first, seat, replay, who) : null,
    legal && did && saw ? section(t("replay.could", { who }), h("ul", { class: "could" }, legal.map((one) => {
      const done = isSame(one.move, did);
      return h("li", { class: done ? "done" : "" }, [moveInWords(one.move, saw), " ", done ? h("b", null, [t("replay.did")]) : attemptButton(seat, one.move, first, replay), links(one.rules, replay)]);
    }))) : null,
    decision.not_legal && did ? section(t("replay.not"), decision.not_legal.length
      ? h("ul", { class: "why" }, decision.not_legal.map((one) =>
          h("li", null, [card(one.card, replay), why(one, replay), " ", links(one.rules, replay)]),
        ))
      : h("p", { class: "quiet" }, [t("replay.not.none")])) : null,
    section(t("replay.followed"), h("ol", { class: "effects", start: first }, decision.effects.map((one) =>
      h("li", null, [caption(replay.frames[one.seq].event, { who: replay.who }), ...statements(one.rules, replay)]),
    ))),
  ];
}

/** A button that tries another move. @param {number | null} seat @param {Api["Move"]} move @param {number} seq of the decision @param {Replay} replay */
export const attemptButton = (seat, move, seq, replay) =>
  replay.attempt && seat !== null ? h("button", { type: "button", class: "plain", "data-key": `try ${JSON.stringify(move)}`, onclick: () => replay.attempt?.(seat, move, seq) }, [t("line.try")]) : null;

/** @param {{code: string | null, values: Record<string, any> | null, text: string}} said @param {Replay} replay why something was refused, in the reader's language if the page has it */
function why(said, replay) {
  const text = worded(said, replay.who);
  return h("span", { lang: text ? null : "en" }, [text ?? said.text]);
}

/** The attempts of the seat that were refused before its move. @param {Api["Decision"]} decision @param {Api["Refused"][]} refused @param {Api["GameView"]} saw @param {Replay} replay */
function attempts({ unproven }, refused, saw, replay) {
  return section(
    t("replay.refused", { n: refused.length }),
    h("ul", { class: "refused" }, refused.map((one) =>
      h("li", null, [h("b", null, [moveInWords(one.move, saw)]), one.text && " ", one.text && why({ ...one, text: one.text }, replay), ...statements([one.rule], replay)]),
    )),
    unproven ? h("p", { class: "quiet", lang: "en" }, [unproven]) : null,
  );
}

/** @param {Api["GameView"]} saw @param {number} first @param {number} seat @param {Replay} replay @param {string} who */
function seen(saw, first, seat, replay, who) {
  const own = saw.seats[seat];
  const hand = sorted(own.hand.cards ?? []);
  const look = () => replay.go(first, String(seat));
  return section(
    t("replay.saw", { who }),
    cards(hand.length ? hand : own.up.flat(), replay),
    h("p", null, [
      saw.pile.length ? t("pile.words", { n: saw.pile.length, card: spelled(saw.pile[saw.pile.length - 1]) }) : t("pile.empty.words"),
      " ",
      saw.status === "playing" ? t("pile.asks", { demand: demandText(saw.demand, { aloud: true }) }) : "",
    ]),
    replay.may(String(seat)) ? h("p", null, [h("button", { type: "button", class: "plain", "data-key": "look", onclick: look }, [t("replay.look", { who })])]) : null,
    h("details", { id: "knowledge", open: replay.knows || null, ontoggle: (/** @type {any} */ event) => replay.know(event.target.open) }, [
      h("summary", { "data-key": "knowledge" }, [t("know.title", { who })]),
      replay.knows ? known(replay.knowledge(first, seat), replay, who) : null,
    ]),
  );
}

/** The known cards by place, each with the event that showed it, and the cards that the seat never saw. @param {Api["Knowledge"] | null | undefined} found @param {Replay} replay @param {string} who */
function known(found, replay, who) {
  if (!found) return h("p", { class: "quiet" }, ["…"]);
  const places = [...new Set(found.cards.map(placeOf))].sort();
  return [
    ...places.map((place) => {
      const here = found.cards.filter((one) => placeOf(one) === place);
      const notes = new Map(here.map((one) => [one.card, t("know.since", { n: one.since_seq, how: t(`by.${one.by}`) })]));
      const { zone, seat } = here[0];
      return [
        h("h4", null, [t(`zone.${zone}`, { who: seat === null ? "" : replay.who(seat) })]),
        cards(sorted([...notes.keys()]), replay, (code) => notes.get(code)),
      ];
    }),
    h("h4", null, [t("know.unseen", { who, n: found.unseen.length })]),
    cards(sorted(found.unseen), replay),
  ];
}

const PLACES = ["hand", "up", "down", "pile", "burned", "stock"];

/** A place as a sort key. @param {Api["KnownCard"]} card */
const placeOf = ({ zone, seat }) => `${PLACES.indexOf(zone)} ${String(seat ?? "").padStart(2, "0")}`;

/**
 * Return the path of a card through the hand.
 *
 * @param {Api["Custody"]} custody
 * @param {number} version shown now
 * @param {Replay} replay
 */
export function cardPanel({ path }, version, replay) {
  if (!path.length) return [h("p", { class: "quiet" }, [t("replay.way.hidden")])];
  const last = replay.frames.length - 1;
  return [
    h("ol", { class: "stretches" }, path.map((one) => {
      const now = one.from_seq < version && version <= one.to_seq + 1;
      const place = t(`zone.${one.zone}`, { who: one.seat === null ? "" : replay.who(one.seat) });
      const until = one.to_seq >= last ? "" : ` – ${one.to_seq}`;
      return h("li", { class: now ? "now" : "", "aria-current": now ? "step" : null }, [
        h("span", { class: `swatch zone-${one.zone}`, "aria-hidden": "true" }),
        h("button", { type: "button", class: "plain", "data-key": `stretch ${one.from_seq}`, onclick: () => replay.go(one.from_seq + 1) }, [`${one.from_seq}${until}`]),
        h("span", null, [place, h("span", { class: "quiet" }, [` · ${sight(one.seen_by, replay)}`])]),
      ]);
    })),
  ];
}

/** @param {Api["Stretch"]["seen_by"]} seats @param {Replay} replay */
const sight = (seats, replay) =>
  seats === "all" ? t("seen.all") : seats.length ? t("seen.some", { who: listed(seats.map(replay.who)) }) : t("seen.none");
