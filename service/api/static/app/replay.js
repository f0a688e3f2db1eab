/**
 * The replay page: a hand event by event, as a chosen viewer saw it.
 *
 * The frames of a viewer are fetched once; every step is drawn from them. Rules and decisions come
 * from the audit, for the visible rows of the list.
 */

import { Problem, get, identity, isUnsure, newest } from "./api.js";
import { playersOf } from "./avatars.js";
import { middle, outcome, plaque, showSeats, sides, sizeClass } from "./board.js";
import { caption, marked, recentActions, resultText, seatName, stalemateText } from "./captions.js";
import { sorted, spelled } from "./cards.js";
import { cardPanel, decisionPanel, statements } from "./decision.js";
import { connected, reachable } from "./connection.js";
import { announce, find, h, loaded, replace, svg } from "./dom.js";
import { eventNotes } from "./event_notes.js";
import { eventList } from "./events.js";
import { begun, moment, seatWords, start, t } from "./i18n.js";
import { continued } from "./live.js";
import { playback } from "./playback.js";
import { checkPlayer, showAccount } from "./player.js";
import { offerSettings } from "./settings.js";
import { shareMoment } from "./share.js";
import { sound } from "./sound.js";
import { stage, timeOf } from "./stage.js";
import { problemState } from "./states.js";
import { story } from "./story.js";
import { figuresOf, lanes, legend, plotTable } from "./timeline.js";
import { plainTitle, setTitle } from "./title.js";

/** Another line of the hand; loaded when the reader tries a move. @type {ReturnType<typeof import("./what_if.js").otherLine> | null} */
let other = null;

const SHARE = "M12 15V3M7 8l5-5 5 5M5 12v8h14v-8"; // an arrow out of a box
const KEEP = "M6 3h12v18l-6-5-6 5z"; // a bookmark
const QUIET = 250; // milliseconds without a step before the address changes and rules are fetched

const root = find("#replay");
const id = root.dataset.game ?? "";
let players = playersOf(root);

/** The state of the page. */
const page = {
  /** The present view, which has the names. @type {Api["GameView"]} */ game: /** @type {any} */ (null),
  /** @type {Api["Ruleset"] | null} */ ruleset: null,
  /** @type {Api["Frame"][]} */ frames: [],
  as: "public",
  version: 1,
  /** @type {string | null} */ card: null,
  /** @type {Api["Custody"] | null} */ custody: null,
  /** Whether the decision is shown. */ why: false,
  /** Whether positions like its own are shown. */ alike: false,
  /** Whether statements of the rules are shown with all their lines. */ whole: false,
  /** Whether the knowledge of a seat is shown beside its decision. */ knows: false,
  /** @type {import("./timeline.js").Figures | null} */ figures: null,
};
/** Frames by viewer, once the hand is over. @type {Map<string, Api["Frame"][]>} */
const fetched = new Map();
const leaving = new AbortController();

const last = () => page.frames.length;
const over = () => ["ended", "aborted"].includes(page.game.status);
const own = () => (typeof page.game.as === "number" ? page.game.as : null);
const name = (/** @type {number} */ seat) => seatName(page.game.seats[seat]);
const voice = (aloud = false) => ({ aloud, who: name });
const frameAt = (/** @type {number} */ version) => page.frames[version - 1];

/** The viewers whose replay the server shows to this reader now. */
function viewers() {
  const seats = page.game.seats.map((seat) => String(seat.seat));
  if (over()) return ["all", "public", ...seats];
  return ["public", ...seats.filter((seat) => Number(seat) === own())];
}

const tape = playback({
  version: () => reached(),
  last,
  time: (version) => Date.parse(frameAt(version).at),
  go,
});

const list = eventList({
  game: id,
  who: name,
  view: () => page.game,
  players: () => players,
  replay: () => panelContext(),
  onpick: pick,
  onvisible: () => updateLater(),
  ondecision: (seq) => seq === page.version - 1 && now(),
});

const notes = eventNotes({
  game: id,
  shares: () => over() && own() !== null,
  last,
  changed: () => {
    plot();
    panels();
  },
  report: (problem) => report(problem),
});

/** The data and functions of this page that the panels use. @returns {import("./decision.js").Replay} */
const panelContext = () => ({
  who: name,
  statement,
  rules: `/rules/${page.game.ruleset.id}`,
  go: (version, as = page.as) => (as === page.as ? go(version) : view(as, version)),
  follow,
  may: (as) => viewers().includes(as),
  attempt: over() ? (seat, move, seq) => tryLine({ at: seq, moves: [{ seat, move }], then: null }) : null,
  frames: page.frames,
  knowledge: knowledgeOf,
  knows: page.knows,
  know: (on) => {
    if (on === page.knows) return;
    page.knows = on;
    panels();
  },
});

/** Show another line of the hand. @param {import("./what_if.js").Wanted} wanted */
async function tryLine(wanted) {
  tape.stop();
  queue.flush();
  const { otherLine } = await loaded(import("./what_if.js"));
  other ??= otherLine({ id, as: () => page.as, seats: () => page.game.seats, result: () => page.game.result, opened, share: shareButton, board: (view, events) => board(named(view), events), changed: show, report });
  await other.open(wanted);
  if (!wide.matches) page.why = false; // there the decision covers the board
  panels();
}

/** Name the event that a line replaces everywhere: in the list, on the scrubber and in the address. @param {number} at */
function opened(at) {
  page.version = aim = clamped(at + 1);
}

/** The text of the statements with an id; after the exchange, those about the deal are omitted if there are others. @param {string} rule */
function statement(rule) {
  const all = page.ruleset?.statements.filter((one) => one.id === rule) ?? [];
  const later = all.filter((one) => one.section !== "deal");
  const begun = !["shuffling", "swapping"].includes(frameAt(page.version).view.status);
  return (begun && later.length ? later : all).map((one) => one.text).join(" ");
}

// ---- loading

async function open() {
  const query = new URLSearchParams(location.search);
  page.game = await get(`/v1/games/${id}`);
  const rules = get(`/v1/rulesets/${page.game.ruleset.id}`);
  const requested = query.get("as");
  page.as = requested && viewers().includes(requested) ? requested : over() || own() === null ? viewers()[0] : String(own());
  wanted = page.as;
  await load();
  if (!players.length) players = await seated();
  const begin = page.frames.findIndex((one) => one.view.status !== "shuffling") + 1;
  const event = query.get("event");
  const version = event ? Number(event) + 1 : 0;
  page.version = clamped(version || (over() ? begin : last()));
  createPage();
  if (requested && requested !== page.as) showNotice(t("replay.sealed"));
  page.why = query.has("why");
  page.alike = query.has("alike");
  if (page.why) awaited.add("why");
  show();
  const card = query.get("card");
  if (card && [...find("#follow").options].some((one) => one.value === card)) {
    awaited.add("way");
    follow(card);
  }
  rules.then(showRuleset, report);
  notes.load().catch(report);
  const line = query.get("line") && over() ? (await loaded(import("./what_if.js"))).lineOf(query.get("line")) : null;
  if (line) await tryLine(line);
  if (!over()) await following();
}

/** @returns {Promise<(string | null)[]>} the id of each seat's player; the page of a private hand names none, and a referee finds none */
async function seated() {
  const dealt = new Date(frameAt(1).at);
  const later = new Date(dealt.getTime() + 1);
  const { items } = await get(`/v1/games?table=${page.game.table}&since=${dealt.toISOString()}&until=${later.toISOString()}`);
  return items.find((one) => one.id === id)?.seats.map((seat) => seat.player) ?? [];
}

/** @param {Api["Ruleset"]} ruleset */
function showRuleset(ruleset) {
  page.ruleset = ruleset;
  const title = t("replay.title", { ruleset: ruleset.name, n: page.game.hand });
  setTitle(title);
  find("#title").textContent = title;
  list.cite();
  show();
}

/** The viewer that was asked for; `page.as` is the one whose frames are shown. */
let wanted = page.as;
const begin = newest();

/** Fetch the frames from a version on, for the viewer that was asked for. @returns {Promise<boolean>} whether they are shown now */
async function load(from = 1) {
  const [isNewest, as] = [begin(), wanted];
  const first = as === page.as ? from : 1; // the frames of another viewer are not continued
  const known = first === 1 ? [...(fetched.get(as) ?? [])] : [...page.frames];
  let next = known.length && first === 1 ? null : first;
  while (next) {
    const batch = await get(`/v1/games/${id}/replay?as=${as}&from=${next}`);
    if (!isNewest()) return false;
    known.push(...batch.items);
    next = batch.next;
  }
  if (over()) fetched.set(as, known);
  page.as = as;
  page.frames = known;
  page.figures = figuresOf(known);
  return true;
}

/** Show a version, or that at which the page is then, as another viewer saw it. @param {string} as @param {number} [version] */
async function view(as, version) {
  wanted = as;
  try {
    if (!(await load())) return;
  } catch (problem) {
    if (wanted === as) wanted = page.as;
    show();
    return report(problem);
  }
  rows();
  go(version ?? reached());
}

/** Add each new event of a hand that is being played, until its end. */
async function following() {
  const { signal } = leaving;
  const onstate = (/** @type {boolean} */ isUp) => connected("hand", isUp);
  for await (const _ of continued(id, () => page.frames, { signal, onstate })) {
    const [before, end] = [reached(), last()];
    if (!(await load(end + 1))) continue; // another viewer was chosen: that load has this event
    rows();
    if (before === end && reached() === end) go(last(), true); // the reader did not step meanwhile
    else show();
  }
  if (signal.aborted) return;
  page.game = await get(`/v1/games/${id}`);
  list.forget();
  offerViewers();
  show();
  offerOpinion(!find("#opinion").hidden);
}

/** The knowledge of seats, by version and seat; null while it is being fetched. @type {Map<string, Api["Knowledge"] | null>} */
const knowledge = new Map();

/** @param {number} version @param {number} seat */
function knowledgeOf(version, seat) {
  const key = `seat=${seat}&at=${version}`;
  if (!knowledge.has(key)) {
    knowledge.set(key, null);
    get(`/v1/games/${id}/audit/knowledge?${key}`).then((found) => {
      knowledge.set(key, found);
      panels();
    }, report);
  }
  return knowledge.get(key);
}

/** The panels of positions like those of decisions, by their first event; null while one is being fetched. @type {Map<number, any[] | null>} */
const alikes = new Map();

/** @param {Api["Decision"]} decision */
async function fetchAlike(decision) {
  alikes.set(decision.first, null);
  try {
    const { alikeOf, alikePanel } = await loaded(import("./alike.js"));
    alikes.set(decision.first, alikePanel(await alikeOf(id, decision), decision));
  } catch (problem) {
    alikes.delete(decision.first);
    page.alike = false; // the next press asks again
    report(problem);
  }
  panels();
}

/** Positions like that of a decision, after the end; fetched when the reader opens them. @param {Api["Decision"]} decision */
function alike(decision) {
  if (!over() || !decision.saw || !decision.did || decision.saw.status !== "playing") return null;
  const { first } = decision;
  if (page.alike && !alikes.has(first)) void fetchAlike(decision);
  const toggled = (/** @type {any} */ { target }) => {
    if (target.open === page.alike) return;
    page.alike = target.open;
    panels();
  };
  return h("details", { id: "alike", open: page.alike || null, ontoggle: toggled }, [
    h("summary", { "data-key": "alike" }, [t("alike.title")]),
    ...(page.alike ? (alikes.get(first) ?? [h("progress", { "aria-label": t("state.loading") })]) : []),
  ]);
}

/** @param {string} code of a card; "" to follow none */
async function follow(code) {
  page.card = code || null;
  page.custody = null;
  find("#follow").value = code;
  updateLater();
  if (!code) find("#follow").focus({ preventScroll: true });
  panels();
  try {
    const found = code ? await get(`/v1/games/${id}/audit/cards/${code}`) : null;
    if (page.card !== (code || null)) return;
    page.custody = found;
  } catch (problem) {
    return report(problem);
  }
  plot();
  show();
  if (code) announce(t("replay.way.of", { card: spelled(code) }));
}

// ---- stepping

const clamped = (/** @type {number} */ version) => Math.min(last(), Math.max(1, Math.round(version) || 1));

/** Shows one step forward after the other; any other change is drawn at once. */
const queue = story({
  show: ({ view }) => draw(view.version),
  time: timeOf,
  stage: (entry, how) => stage(entry, named(frameAt(page.version).view), null, how),
  limit: () => tape.pause(),
});

let aim = 1; // the version that is shown or about to be shown
const reached = () => (queue.isBehind() ? aim : page.version);

/** Show a version; with `moving`, one step forward is animated. @param {number} version */
function go(version, moving = false) {
  queue.flush();
  other?.cancel();
  if (other?.isOpen()) return other.close();
  const to = clamped(version);
  aim = to;
  if (moving && to === page.version + 1) queue.push([{ event: frameAt(to).event, view: named(frameAt(to).view) }]);
  else draw(to, moving);
}

/** @param {number} version */
function draw(version, moving = true) {
  const isStep = version === page.version + 1;
  page.version = version;
  show();
  if (moving && isStep) sound([frameAt(version).event], false);
  // Screen readers read the value of the scrubber, and cannot follow a playback at high speed.
  if (document.activeElement !== find("#scrub") && (moving || !tape.isPlaying())) announce(caption(frameAt(page.version).event, voice(true)));
}

// ---- rendering

/** Create the parts of the page. */
function createPage() {
  const scrub = h("input", { type: "range", id: "scrub", min: 0, max: last() - 1, "aria-label": t("replay.position"), oninput: () => tape.step(Number(scrub.value) + 1) });
  replace(
    root,
    h("header", { id: "top" }, [
      h("h1", { id: "title" }, [t("act.replay")]),
      h("p", { class: "links" }, [
        h("a", { href: `/rules/${page.game.ruleset.id}`, target: "_blank", rel: "noopener" }, [t("more.rules")]),
        h("a", { href: `/play/${id}${location.hash}` }, [t("replay.table")]),
        root.dataset.verify ? h("a", { href: root.dataset.verify + id }, [t("act.verify")]) : null,
        root.dataset.dispute && own() !== null ? h("a", { id: "dispute", href: "/" }, [t("replay.dispute")]) : null,
      ]),
      h("button", { type: "button", id: "choose", "aria-expanded": "false", "aria-controls": "top", onclick: choose }, [t("replay.choose")]),
      h("label", null, [h("span", null, [t("replay.as")]), " ", h("select", { id: "as", onchange: () => view(find("#as").value) })]),
      h("select", { id: "follow", "aria-label": t("replay.card"), onchange: () => follow(find("#follow").value) }),
    ]),
    h("div", { id: "above" }, [
      h("div", { id: "complaint", role: "status" }),
    ]),
    h("div", { id: "felt", tabindex: 0, role: "group", "aria-label": t("replay.table") }, [
      h("div", { id: "others", role: "group", "aria-label": t("replay.players") }),
      h("div", { id: "middle", role: "group", "aria-label": t("table.middle") }),
      h("div", { id: "own" }),
    ]),
    h("div", { id: "bar" }, [h("div", { id: "now" }), tape.controls()]),
    h("section", { id: "plot", "aria-label": t("replay.plot") }, [
      h("div", { class: "lanes" }, [h("div", { id: "lanes" }), scrub]),
      h("div", { id: "legend" }),
      h("details", null, [h("summary", null, [t("replay.words")]), h("div", { id: "words" })]),
      h("button", { type: "button", class: "plain", id: "judge", "aria-expanded": "false", "aria-controls": "opinion", onclick: () => offerOpinion(Boolean(find("#opinion").hidden)) }, [t("replay.opinion")]),
    ]),
    h("aside", { id: "side" }, [
      h("section", { id: "events", "aria-label": t("replay.events") }, [list.fold, h("ol", { id: "rows" })]),
      h("section", { id: "opinion", hidden: "", "aria-labelledby": "opinion-title" }, panel("opinion", () => offerOpinion(false))),
      h("section", { id: "why", hidden: "", "aria-labelledby": "why-title" }, panel("why", () => toggle(false))),
      h("section", { id: "way", hidden: "", "aria-labelledby": "way-title" }, panel("way", () => follow(""))),
    ]),
  );
  find("#felt").addEventListener("click", (event) => {
    const { target } = event;
    const code = target instanceof Element && target.closest("[data-card]")?.getAttribute("data-card");
    if (code) follow(code);
  });
  find("#opinion-title").textContent = t("replay.opinion");
  offerViewers();
  offerCards();
  rows();
}

/** Share the moment as everybody can see it: before the seal that is the public view. */
const share = () =>
  shareMoment({ game: id, version: page.version, as: over() ? page.as : "public", title: plainTitle(), isPublic: "public" in root.dataset, line: other?.address() ?? "" });

/** @param {string} id @param {string} text @param {string} icon @param {() => unknown} onclick @param {string | null} [of] the class of its text */
const iconButton = (id, text, icon, onclick, of = null) =>
  h("button", { id, "data-key": id, class: "pictured", title: text, onclick }, [svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, [svg("path", { d: icon })]), h("span", { class: of }, [text])]);

const shareButton = () => iconButton("share", t("share"), SHARE, share);

/** Keep the moment as this viewer sees it. What is proposed as its text names seats: a name could be erased. */
async function keep() {
  const { keepMoment } = await loaded(import("./moment_dialog.js"));
  await keepMoment({ game: id, version: page.version, as: page.as }, begun(caption(frameAt(page.version).event, { ...voice(), who: seatWords }))).catch(report);
}

/** On a phone, show or hide links and selects. */
function choose() {
  const isOpen = find("#top").classList.toggle("open");
  find("#choose").setAttribute("aria-expanded", String(isOpen));
}

/** @param {string} key @param {() => void} close */
const panel = (key, close) => [
  h("div", { class: "head" }, [
    h("h2", { id: `${key}-title` }),
    h("button", { type: "button", class: "plain", "data-key": `close ${key}`, onclick: close }, [t("close")]),
  ]),
  h("div", { id: `${key}-body` }),
];

/** @param {boolean} on */
function toggle(on) {
  page.why = on;
  awaited.delete("why"); // it gets the focus
  panels();
  updateLater();
  now();
  list.mark(page.version - 1);
  // On a small screen the decision covers the page, so its close button gets the focus.
  find(on && !wide.matches ? "#why .head button" : "#ask").focus({ preventScroll: true });
}

/** On Escape, close the panel of the card; if none is open, that of the decision. @param {KeyboardEvent} event */
function close({ key }) {
  if (key !== "Escape") return;
  if (page.card) follow("");
  else if (page.why) toggle(false);
}

function offerViewers() {
  /** @type {Record<string, string>} */
  const texts = { all: t("replay.as.all"), public: t("replay.as.public") };
  replace(find("#as"), viewers().map((as) => h("option", { value: as }, [texts[as] ?? t("replay.as.seat", { who: name(Number(as)) })])));
}

/** Offer the cards that the frames name. */
function offerCards() {
  const found = new Set();
  for (const { view, event } of page.frames) {
    const sealed = event.type === "game_sealed" ? event.data.deck : [];
    for (const card of [...view.pile, ...sealed]) found.add(card);
    for (const seat of view.seats) for (const card of [...seat.up.flat(), ...(seat.hand.cards ?? [])]) found.add(card);
  }
  replace(find("#follow"), h("option", { value: "" }, [`${t("replay.card")} …`]), ...sorted([...found]).map((card) => h("option", { value: card }, [spelled(card)])));
  find("#follow").value = page.card ?? "";
}

/** Show the list of events, the choice of cards and the plot for the fetched frames. */
function rows() {
  list.fill(page.frames);
  notes.mark();
  find("#scrub").max = String(last() - 1);
  offerCards();
  plot();
}

/** A click on a row shows its version and the decision behind it. @param {number} version */
function pick(version) {
  tape.stop();
  page.why = true;
  go(version);
}

let isJudged = false;

/** Show or hide a bot's opinion of a finished hand; it is fetched when the reader asks for it first. @param {boolean} on */
async function offerOpinion(on) {
  const [section, place, button] = ["#opinion", "#opinion-body", "#judge"].map((one) => find(one));
  const isChange = section.hidden === on;
  section.hidden = !on;
  button.setAttribute("aria-expanded", String(on));
  if (isChange && on) section.scrollIntoView({ block: "nearest" });
  else if (isChange) button.focus({ preventScroll: true });
  if (!on || isJudged) return;
  if (!over()) return replace(place, h("p", { class: "quiet" }, [t("replay.opinion.later")]));
  isJudged = true;
  replace(place, h("progress", { "aria-label": t("state.loading") }));
  try {
    const { judge } = await loaded(import("./opinion.js"));
    await judge(id, page.frames, place, panelContext());
  } catch (problem) {
    isJudged = false; // the next press asks again
    report(problem);
  }
}

function plot() {
  if (!page.figures) return;
  replace(find("#lanes"), ...lanes(page.figures, page.custody?.path ?? null), notes.marks());
  replace(find("#words"), plotTable(page.figures, page.game.seats));
}

const wide = matchMedia("(min-width: 60rem) and (min-height: 34rem)");
const spacious = matchMedia("(min-width: 40rem) and (min-height: 34rem)");
const low = matchMedia("(max-height: 33.99rem)");

/** @param {Api["GameView"]} past @returns {Api["GameView"]} with the names of the seats */
const named = (past) => ({ ...past, seats: past.seats.map((seat, at) => ({ ...seat, name: page.game.seats[at].name })) });

/** Show the present version everywhere. */
function show() {
  const past = named(frameAt(page.version).view);
  const isTrying = Boolean(other?.isOpen());
  root.classList.toggle("trying", isTrying);
  find("#felt").dataset.mark = isTrying ? t("line.mark") : "";
  if (isTrying) other?.show(find("#now"));
  else board(past);
  now();
  const scrub = find("#scrub");
  scrub.value = String(page.version - 1);
  scrub.setAttribute("aria-valuetext", `${page.version - 1}: ${caption(frameAt(page.version).event, voice(true))}`);
  find("#position").textContent = `${page.version - 1} / ${last() - 1}`;
  find("#as").value = page.as;
  replace(find("#legend"), legend(past));
  panels();
  list.mark(page.version - 1);
  updateLater();
}

/** @param {Api["GameView"]} view with names @param {any[] | null} events of another line, which led to the view */
function board(view, events = null) {
  const base = typeof view.as === "number" ? view.as : (own() ?? 0);
  const found = sides({ ...view, as: base }, wide.matches);
  const others = view.seats.length - 1;
  const size = sizeClass(others);
  const since = page.version - 3 * view.seats.length;
  const recent = events ?? page.frames.slice(Math.max(0, since), page.version).map((one) => one.event);
  const scene = { view, players, open: true, order: /** @type {Settings | undefined} */ (/** @type {any} */ (page.ruleset?.settings))?.order.low_to_high, did: (/** @type {number} */ seat) => recentActions(recent, seat) };
  const small = size === "crowd" || low.matches || (!wide.matches && others > (spacious.matches ? 5 : 3));
  const side = (/** @type {"left" | "top" | "right"} */ key) => h("ul", { class: `side ${key}` }, found[key].map((seat) => plaque(seat, scene, small)));
  root.dataset.others = String(others);
  root.className = `${size} ${view.status}${other?.isOpen() ? " trying" : ""}`;
  showSeats(side("left"), side("top"), side("right"));
  replace(find("#own"), h("ul", { class: "side" }, [plaque(view.seats[base], scene, low.matches || size === "crowd")]));
  const done = ["ended", "aborted"].includes(view.status);
  const end = done && !events ? [...page.frames].reverse().find((one) => one.event.type === "game_aborted")?.event : null;
  replace(find("#middle"), done ? outcome(view, view.result ? resultText(view.result, voice()) : end ? caption(end, voice()) : "", { players, why: stalemateText(view, recent) }) : middle(view, scene));
  mark(events ? events[events.length - 1] : frameAt(page.version).event);
}

/** Highlight the cards of the event, and the followed card. @param {any} event */
function mark(event) {
  const data = /** @type {{cards?: string[], up?: string[], opening?: {card: string} | null}} */ (event?.data ?? {});
  const moved = new Set([data.cards, data.up, data.opening?.card].flat());
  for (const element of document.querySelectorAll("#felt [data-card]")) {
    const code = element.getAttribute("data-card");
    element.classList.toggle("moved", moved.has(code ?? ""));
    element.classList.toggle("followed", code !== "" && code === page.card);
  }
}

/** Show the event in words, its time, and the statement that decides it. */
function now() {
  if (other?.isOpen()) return;
  const { event, at } = frameAt(page.version);
  const time = moment(at, { timeStyle: "medium" });
  replace(
    find("#now"),
    h("p", { class: "what" }, [h("strong", null, marked(caption(event, voice()), page.game.seats.map(seatName))), h("span", { class: "quiet" }, [time])]),
    h("div", { class: "by" }, [...statements(list.rulesOf(event.seq).slice(0, 1), panelContext()), rest()]),
    h("div", { class: "about" }, [
      identity() ? iconButton("keep", t("moments.keep"), KEEP, keep, "unseen") : null,
      shareButton(),
      h("button", { type: "button", id: "ask", "data-key": "ask", "aria-expanded": String(page.why), "aria-controls": "why", onclick: () => toggle(!page.why) }, [t("replay.why")]),
    ]),
  );
  clip();
}

/** The button that shows the whole statement of the rules, or two lines of it again. */
const rest = () =>
  h("button", { class: "plain", id: "rest", "data-key": "rest", "aria-expanded": String(page.whole), onclick: () => {
    page.whole = !page.whole;
    now();
  } }, [t(page.whole ? "replay.rule.less" : "replay.rule.more")]);

/** Offer the rest of a statement that has more than two lines. */
function clip() {
  const by = document.querySelector("#now .by");
  if (!by) return;
  by.classList.remove("whole");
  find("#rest").hidden = by.scrollHeight <= by.clientHeight + 2;
  by.classList.toggle("whole", page.whole);
}

/** The panels that the address names and whose content has not arrived: shown empty, they would grow. @type {Set<"why" | "way">} */
const awaited = new Set();

function panels() {
  const seq = page.version - 1;
  const decision = list.decision(seq);
  if (decision) awaited.delete("why");
  if (page.custody) awaited.delete("way");
  find("#why").hidden = !page.why || awaited.has("why");
  find("#way").hidden = !page.card || awaited.has("way");
  if (page.why && decision) {
    find("#why-title").textContent = decision.seat === null ? t("replay.decision") : t("replay.decision.of", { who: name(decision.seat) });
    replace(find("#why-body"), ...decisionPanel(decision, panelContext()), alike(decision), notes.panel(seq));
  }
  find("#why").setAttribute("aria-busy", String(page.why && !decision));
  if (!page.card) return;
  find("#way-title").textContent = t("replay.way.of", { card: spelled(page.card) });
  replace(find("#way-body"), page.custody ? cardPanel(page.custody, page.version, panelContext()) : []);
}

let updating = 0;

/** After QUIET without a step, update the address and fetch the rules of the visible rows. */
function updateLater() {
  clearTimeout(updating);
  updating = setTimeout(() => {
    const event = `event=${page.version - 1}`;
    const opened = `${page.why ? "&why=1" : ""}${page.card ? `&card=${page.card}` : ""}`;
    const line = other?.isOpen() ? `&line=${encodeURIComponent(other.address())}` : "";
    history.replaceState(null, "", `?${event}&as=${page.as}${opened}${line}${location.hash}`);
    document.getElementById("dispute")?.setAttribute("href", `${root.dataset.dispute}?game=${id}&${event}`);
    explain().catch(report);
  }, QUIET);
}

/** Fetch the decision that is shown, then the rules of the visible rows. */
async function explain() {
  const version = page.version;
  await list.decisionOf(version - 1);
  if (version !== page.version) return;
  now();
  panels();
  list.mark(page.version - 1);
  await list.explain(version - 1, () => version === page.version);
}

/** @param {string} text */
function showNotice(text) {
  replace(find("#complaint"), h("p", { class: "notice" }, [text]));
}

/** @param {any} problem */
function report(problem) {
  if (leaving.signal.aborted || problem?.name === "AbortError") return;
  if (!(problem instanceof Problem)) throw problem;
  const place = document.getElementById("complaint");
  const complaint = h("p", { class: "notice warning", role: "alert", lang: problem.lang }, [problem.message]);
  if (place && isUnsure(problem)) reachable().then(() => complaint.remove(), () => {});
  if (place) replace(place, complaint);
  else replace(root, problemState(problem, "hand"));
}

document.addEventListener("keydown", tape.keys);
document.addEventListener("keydown", close);
for (const query of [wide, spacious, low]) query.addEventListener("change", () => page.frames.length && show());
addEventListener("resize", () => document.getElementById("rest") && clip());
addEventListener("pagehide", () => leaving.abort());
addEventListener("pageshow", (event) => event.persisted && location.reload());
await start("replay", "state", "refusals", "moments");
offerSettings(() => {});
await checkPlayer();
showAccount();
try {
  await open();
} catch (problem) {
  report(problem);
}
