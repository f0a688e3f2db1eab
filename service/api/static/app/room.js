/** The room of a dispute's referees: one leads through the replay, the others follow. */

import { Problem, get, identity, post } from "./api.js";
import { announce, h, replace } from "./dom.js";
import { t } from "./i18n.js";

const WAIT = 25; // seconds of a long poll
const REPEAT = 10_000; // milliseconds after which a leader sends the position again
const PAUSE = 500; // milliseconds before a new position is sent; several steps are sent as one
const REST = 2000; // milliseconds between polls of an unchanged room

/** @typedef {Api["Position"]} Position */

/**
 * Join the room, if the reader is a referee of the present panel.
 *
 * @param {string} dispute
 * @param {Element} place where leader and buttons are shown
 * @param {{here: () => Position, go: (position: Position) => Promise<void>, signal: AbortSignal}} replay
 *   `here`: the reader's position; `go`: show another one
 * @returns {Promise<() => void>} a function to call after each step of the replay
 */
export async function join(dispute, place, { here, go, signal }) {
  const path = /** @type {const} */ (`/v1/disputes/${encodeURIComponent(dispute)}`);
  const { referees, votes } = await get(path);
  const judges = (/** @type {Api["Referee"]} */ one) => one.state !== "recused" && !votes.some((vote) => vote.referee === one.referee);
  const me = referees.find((one) => one.player === identity()?.id && judges(one))?.referee;
  if (me === undefined) return () => {};
  /** @type {Api["Room"]} */
  let room = { number: 0, leader: null, position: null };
  let following = true;
  let moving = false; // while the leader's position is being shown
  let last = ""; // the position last sent, or received from the leader
  let timer = 0;
  let fault = "";
  let over = false; // the reader is no longer a referee of the panel

  const leads = () => room.leader === me;
  const at = () => JSON.stringify(here());

  /** @template Found @param {() => Promise<Found>} work @returns {Promise<Found | null>} */
  async function attempt(work) {
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      fault = problem.message;
      over = [401, 403, 404].includes(problem.status);
      if (!signal.aborted) draw();
      return null;
    }
  }

  /** Show the state of the room; an answer older than the last one is ignored. @param {Api["Room"] | null} next */
  async function take(next) {
    if (!next || (next.number && next.number < room.number)) return;
    const before = room;
    room = next;
    fault = "";
    if (leads()) following = true;
    draw();
    if (room.leader !== before.leader) announce(state());
    if (room.number !== before.number) await follow();
  }

  async function follow() {
    if (!following || leads() || !room.position) return;
    moving = true;
    await go(room.position);
    moving = false;
    last = at();
  }

  async function send(lead = false) {
    last = at();
    await take(await attempt(() => post(`${path}/room`, { ...here(), take: lead }, { method: "PUT", once: true })));
  }

  async function end() {
    await attempt(() => post(`${path}/room`, {}, { method: "DELETE", once: true }));
  }

  function moved() {
    if (moving || at() === last) return;
    if (leads()) {
      timer ||= setTimeout(() => {
        timer = 0;
        if (leads()) send();
      }, PAUSE);
    } else if (following && room.position) {
      following = false;
      draw();
    }
  }

  const state = () => (leads() ? t("room.you") : room.leader === null ? t("room.none") : t("room.leads", { n: room.leader + 1 }));
  /** @param {string} key @param {string} spot @param {() => void} onclick */
  const button = (key, spot, onclick) => h("button", { onclick, "data-key": spot }, [t(key)]);

  function draw() {
    const other = room.leader !== null && !leads();
    const again = () => {
      following = !following;
      draw();
      follow();
    };
    replace(
      place,
      fault ? h("span", { class: "fault", role: "alert", lang: "en" }, [fault]) : null,
      h("strong", null, [state()]),
      other ? button(following ? "room.alone" : "room.follow", "follow", again) : null,
      leads() ? button("room.end", "lead", end) : button(other ? "room.take" : "room.lead", "lead", () => send(true)),
      h("a", { href: `/disputes/${encodeURIComponent(dispute)}` }, [t("room.file")]),
    );
  }

  async function poll() {
    while (!signal.aborted && !over) {
      const known = room.number;
      const next = await attempt(() => get(`${path}/room?number=${known}&wait=${WAIT}`, { signal, timeout: (WAIT + 10) * 1000 }));
      await take(next);
      if (!next || next.number === known) await new Promise((done) => setTimeout(done, REST));
    }
  }

  draw();
  const repeating = setInterval(() => {
    if (leads() && !over) send();
  }, REPEAT);
  signal.addEventListener("abort", () => {
    clearInterval(repeating);
    clearTimeout(timer);
    if (leads()) end();
  });
  poll().catch((error) => {
    if (!signal.aborted) throw error;
  });
  return moved;
}
