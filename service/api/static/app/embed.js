/**
 * A replay in a frame of another site: the table, the event in words, and the controls.
 *
 * The frame is a sandbox of its own origin: it has no storage, no token and no way to move. It reads what everybody
 * can read of a public hand. It cannot open pages either, so the address of the replay is a text.
 */

import { get } from "./api.js";
import { middle, outcome, plaque, showSeats, sides, sizeClass } from "./board.js";
import { caption, recentActions, resultText, seatName } from "./captions.js";
import { find, h, replace } from "./dom.js";
import { start, t } from "./i18n.js";
import { playback } from "./playback.js";
import { stage, timeOf } from "./stage.js";
import { problemState } from "./states.js";
import { pace, story } from "./story.js";

const root = find("#embed");
const id = root.dataset.game ?? "";
const query = new URLSearchParams(location.search);

/** The hand, what was fetched of it, and the version that is shown. */
const page = {
  /** @type {Api["GameView"]} */ game: /** @type {any} */ (null),
  /** @type {Api["Frame"][]} */ frames: [],
  version: 1,
};

const last = () => page.frames.length;
const frameAt = (/** @type {number} */ version) => page.frames[version - 1];
const who = (/** @type {number} */ seat) => seatName(page.game.seats[seat]);
/** @param {Api["GameView"]} past @returns {Api["GameView"]} with the names of the seats */
const named = (past) => ({ ...past, seats: past.seats.map((seat, at) => ({ ...seat, name: page.game.seats[at].name })) });

const tape = playback({ version: () => page.version, last, time: (version) => Date.parse(frameAt(version).at), go });
const queue = story({
  show: ({ view }) => draw(view.version),
  time: timeOf,
  stage: (entry, how) => stage(entry, named(frameAt(page.version).view), null, how),
  limit: () => tape.pause(),
});

/** Show a version; with `moving`, one step forward is animated. @param {number} version */
function go(version, moving = false) {
  queue.flush();
  const to = Math.min(last(), Math.max(1, version));
  if (moving && to === page.version + 1 && pace() !== "off") queue.push([{ event: frameAt(to).event, view: named(frameAt(to).view) }]);
  else draw(to);
}

/** @param {number} version */
function draw(version) {
  page.version = version;
  const { event, view: past } = frameAt(version);
  const view = named(past);
  const others = view.seats.length - 1;
  const small = others > 3 || innerHeight < 560 || innerWidth < 560;
  const recent = page.frames.slice(Math.max(0, version - 3 * view.seats.length), version).map((one) => one.event);
  const scene = { view, open: true, did: (/** @type {number} */ seat) => recentActions(recent, seat) };
  const side = (/** @type {Api["SeatView"][]} */ seats) => h("ul", { class: "side top" }, seats.map((seat) => plaque(seat, scene, small)));
  const isOver = ["ended", "aborted"].includes(view.status);
  find("#felt").className = sizeClass(others);
  root.dataset.others = String(others);
  showSeats(side([]), side(sides({ ...view, as: 0 }, false).top), side([]));
  replace(find("#own"), h("ul", { class: "side" }, [plaque(view.seats[0], scene, small)]));
  replace(find("#middle"), isOver ? outcome(view, view.result ? resultText(view.result, { who }) : caption(aborted(), { who })) : middle(view, scene));
  replace(find("#now"), caption(event, { who }));
  find("#position").textContent = `${version - 1} / ${last() - 1}`;
  scrub.value = String(version - 1);
  scrub.setAttribute("aria-valuetext", `${version - 1}: ${caption(event, { who, aloud: true })}`);
}

const aborted = () => [...page.frames].reverse().find(({ event }) => event.type === "game_aborted")?.event ?? frameAt(last()).event;

const scrub = h("input", { type: "range", id: "seek", min: 0, oninput: () => tape.step(Number(scrub.value) + 1) });

function createPage() {
  scrub.max = String(last() - 1);
  scrub.setAttribute("aria-label", t("replay.position"));
  const isRunning = !["ended", "aborted"].includes(page.game.status);
  replace(
    root,
    h("div", { id: "felt", role: "group", "aria-label": t("replay.table"), tabindex: 0 }, [h("div", { id: "others" }), h("div", { id: "middle" }), h("div", { id: "own" })]),
    h("p", { id: "now", role: "status" }),
    h("div", { id: "bar" }, [tape.controls(), scrub]),
    h("div", { id: "source" }, [h("h1", null, [document.title]), isRunning ? ` · ${t("embed.running")}` : "", " · ", h("code", { class: "code", translate: "no" }, [`${location.host}/replay/${id}`])]),
  );
}

/** Fetch all frames, for the viewer that the address names. @param {string} as */
async function load(as) {
  let next = /** @type {number | null} */ (1);
  while (next) {
    const batch = await get(`/v1/games/${id}/replay?as=${as}&from=${next}`);
    page.frames.push(...batch.items);
    next = batch.next;
  }
}

/** The viewer: before the seal everybody sees the public view only. */
function viewer() {
  const as = query.get("as") ?? "all";
  const isOver = ["ended", "aborted"].includes(page.game.status);
  return isOver && ["all", "public", ...page.game.seats.map((seat) => String(seat.seat))].includes(as) ? as : "public";
}

async function open() {
  page.game = await get(`/v1/games/${id}`);
  await load(viewer());
  createPage();
  const begin = page.frames.findIndex(({ view }) => view.status !== "shuffling") + 1;
  const event = query.get("event");
  go(event ? Number(event) + 1 || 1 : Math.max(1, begin));
  addEventListener("resize", () => draw(page.version));
  document.addEventListener("keydown", tape.keys);
}

await start("replay", "state");
try {
  if (id) await open();
} catch (problem) {
  const { status, message } = /** @type {{status?: number, message: string}} */ (problem);
  if (status === undefined) throw problem;
  replace(root, problemState({ status, message }, "hand"));
}
