/**
 * A replay in a frame of another site: the table, the event in words, and the controls.
 *
 * The frame is a sandbox of its own origin: it has no storage, no token and no way to move. It reads what everybody
 * can read of a public hand, and follows a hand that is being played. It cannot open pages either, so the address of
 * the replay is a text.
 */

import { get } from "./api.js";
import { playersOf } from "./avatars.js";
import { middle, outcome, plaque, showSeats, sides, sizeClass } from "./board.js";
import { caption, recentActions, resultText, seatName } from "./captions.js";
import { find, h, replace } from "./dom.js";
import { start, t } from "./i18n.js";
import { continued } from "./live.js";
import { playback } from "./playback.js";
import { stage, timeOf } from "./stage.js";
import { problemState } from "./states.js";
import { pace, story } from "./story.js";
import { plainTitle, setTitle } from "./title.js";

const root = find("#embed");
const id = root.dataset.game ?? "";
const query = new URLSearchParams(location.search);
const players = playersOf(root);

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

/** The version that is shown once the queue is empty. */
let aim = 1;
const over = () => ["ended", "aborted"].includes(page.game.status);

const tape = playback({ version: () => aim, last, time: (version) => Date.parse(frameAt(version).at), go });
const queue = story({
  show: ({ view }) => draw(view.version),
  time: timeOf,
  stage: (entry, how) => stage(entry, named(frameAt(page.version).view), null, how),
  limit: () => tape.pause(),
});

/** Show a version; with `moving`, one step forward is animated. @param {number} version */
function go(version, moving = false) {
  queue.flush();
  const to = (aim = Math.min(last(), Math.max(1, version)));
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
  const scene = { view, players, open: true, did: (/** @type {number} */ seat) => recentActions(recent, seat) };
  const side = (/** @type {Api["SeatView"][]} */ seats) => h("ul", { class: "side top" }, seats.map((seat) => plaque(seat, scene, small)));
  const isOver = ["ended", "aborted"].includes(view.status);
  find("#felt").className = sizeClass(others);
  root.dataset.others = String(others);
  showSeats(side([]), side(sides({ ...view, as: 0 }, false).top), side([]));
  replace(find("#own"), h("ul", { class: "side" }, [plaque(view.seats[0], scene, small)]));
  replace(find("#middle"), isOver ? outcome(view, view.result ? resultText(view.result, { who }) : caption(aborted(), { who }), { players }) : middle(view, scene));
  replace(find("#now"), caption(event, { who }));
  find("#position").textContent = `${version - 1} / ${last() - 1}`;
  scrub.max = String(last() - 1);
  scrub.value = String(version - 1);
  scrub.setAttribute("aria-valuetext", `${version - 1}: ${caption(event, { who, aloud: true })}`);
}

const aborted = () => [...page.frames].reverse().find(({ event }) => event.type === "game_aborted")?.event ?? frameAt(last()).event;

const scrub = h("input", { type: "range", id: "seek", min: 0, oninput: () => tape.step(Number(scrub.value) + 1) });

function createPage() {
  scrub.setAttribute("aria-label", t("replay.position"));
  replace(
    root,
    h("div", { id: "felt", role: "group", "aria-label": t("replay.table"), tabindex: 0 }, [h("div", { id: "others" }), h("div", { id: "middle" }), h("div", { id: "own" })]),
    h("p", { id: "now", role: "status" }),
    h("div", { id: "bar" }, [tape.controls(), scrub]),
    h("div", { id: "source" }, [h("h1", null, [plainTitle()]), h("span", { id: "still" }, [over() ? "" : ` · ${t("embed.running")}`]), " · ", h("code", { class: "code", translate: "no" }, [`${location.host}/replay/${id}`])]),
  );
}

/** Fetch the frames from a version on, as the viewer that the address names saw them. */
async function load(from = 1) {
  let next = /** @type {number | null} */ (from);
  const as = viewer();
  while (next) {
    const batch = await get(`/v1/games/${id}/replay?as=${as}&from=${next}`);
    page.frames.push(...batch.items);
    next = batch.next;
  }
}

/** The viewer: before the seal everybody sees the public view only. */
function viewer() {
  const as = query.get("as") ?? "all";
  return over() && ["all", "public", ...page.game.seats.map((seat) => String(seat.seat))].includes(as) ? as : "public";
}

async function open() {
  page.game = await get(`/v1/games/${id}`);
  setTitle(`Shithead: ${t("table.title", { ruleset: root.dataset.rules, n: page.game.hand })}`);
  await load();
  createPage();
  const begin = page.frames.findIndex(({ view }) => view.status !== "shuffling") + 1;
  const event = query.get("event");
  go(event ? Number(event) + 1 || 1 : over() ? Math.max(1, begin) : last());
  addEventListener("resize", () => draw(page.version));
  document.addEventListener("keydown", tape.keys);
  if (!over()) await following();
}

/** Add each new event of a hand that is being played; once it is over, show it as the address asks. */
async function following() {
  const { signal } = new AbortController();
  for await (const _ of continued(id, () => page.frames, { signal })) {
    const isNewest = aim === last() && !tape.isPlaying();
    await load(last() + 1);
    if (isNewest) go(last(), true);
    else draw(page.version);
  }
  page.game = await get(`/v1/games/${id}`);
  queue.flush();
  page.frames = [];
  await load();
  find("#still").textContent = "";
  draw(page.version);
}

await start("replay", "state");
try {
  if (id) await open();
} catch (problem) {
  const { status, message, lang } = /** @type {{status?: number, message: string, lang?: string | null}} */ (problem);
  if (status === undefined) throw problem;
  replace(root, problemState({ status, message, lang }, "hand"));
}
