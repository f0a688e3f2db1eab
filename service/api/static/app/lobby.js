/** The lobby page: start a hand, open or join tables, watch a running table, return to games. */

import { Problem, get, identity, newest, post } from "./api.js";
import { avatar } from "./avatars.js";
import { resultText, seatName } from "./captions.js";
import { isKept, offerChallenge, showChallenges } from "./challenge.js";
import { connected } from "./connection.js";
import { block, endInvitation } from "./company.js";
import { showConcerns } from "./concerns.js";
import { find, h, replace } from "./dom.js";
import { tick } from "./elsewhere.js";
import { has, listed, moment, start, t } from "./i18n.js";
import { mark } from "./pictures.js";
import { seatKey } from "./signing.js";
import { checkPlayer, ensurePlayer, guestLine, showAccount } from "./player.js";
import { entropyMode } from "./record.js";
import { dotsOf, picturesOf, row } from "./rows.js";
import { endRecorded, scene, showRecorded } from "./running.js";
import { clockOf, offerSeek, seek, showSeekers, withdraw } from "./seek.js";
import { offerSettings } from "./settings.js";
import { read, write } from "./storage.js";
import { setTitle } from "./title.js";
import { worded } from "./worded.js";

const KNOWN = "shithead.known-ruleset";
const FIRST_BOT = "greedy"; // the default: stronger bots think longer
const POLL = 15_000; // milliseconds between updates of the lists
const RUNNING = 6; // running tables in the list
const LIVELY = 4000; // milliseconds between updates of the running table

const rulesets = find("#ruleset");
const offered = (/** @type {string} */ id) => [...rulesets.options].find((option) => option.value === id);
/** Names of custom rulesets by id. @type {Map<string, string>} */
const custom = new Map();
const nameOf = (/** @type {string} */ id) => offered(id)?.text ?? custom.get(id) ?? id;

/** Fetch the names of the custom rulesets among those of games or tables. @param {{ruleset: {id: string}}[]} some */
async function nameRulesets(some) {
  const unknown = new Set(some.map(({ ruleset }) => ruleset.id).filter((id) => !offered(id) && !custom.has(id)));
  await Promise.all([...unknown].map(async (id) => custom.set(id, (await get(`/v1/rulesets/${id}`)).name)));
}

/** Choose the ruleset to which a rules page leads; a custom one is not in the list. @param {string} id */
async function choose(id) {
  if (!offered(id)) {
    const found = await get(`/v1/rulesets/${encodeURIComponent(id)}`).catch(() => null);
    if (!found?.playable || !found.seats) return;
    const option = h("option", { value: id, "data-min": found.seats.min, "data-max": found.seats.max }, [found.name]);
    rulesets.append(option);
  }
  rulesets.value = id;
  find("#more").setAttribute("open", "");
  find("#more").scrollIntoView();
}

/** Run a request, and show the problem if the server refuses it. @param {Event} event of a button @param {() => Promise<unknown>} work */
async function attempt(event, work) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  button.disabled = true;
  find("#fault").textContent = "";
  try {
    await work();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const more = (problem.body.errors ?? []).slice(1).map((error) => `${error.at}: ${worded(error) ?? error.message}`); // the message has the first
    find("#fault").lang = problem.lang ?? document.documentElement.lang;
    find("#fault").textContent = [problem.message, ...more].join(" ");
    find("#fault").scrollIntoView({ block: "nearest" });
  } finally {
    button.disabled = false;
  }
}

/** Open a table and go to it. @param {Api["TableRequest"]} body */
async function openTable(body) {
  await ensurePlayer();
  const table = await post("/v1/tables", { entropy: entropyMode(), ...(await seatKey()), ...body });
  const invite = table.invite ? `#invite=${encodeURIComponent(table.invite)}` : "";
  location.assign((table.game ? `/play/${table.game}` : `/tables/${table.id}`) + invite);
}

// ---- a hand against bots, dealt at once

const bots = (/** @type {string[]} */ names) => names.map((bot) => ({ bot }));

find("#now").addEventListener("click", (event) =>
  attempt(event, () =>
    openTable({ ruleset: "leeds", seats: ["me", ...bots(["greedy", "lowest", "greedy"])], window_seconds: 1 }),
  ),
);
find("#now").disabled = false;

// ---- three ways to play

find("#with-bots").addEventListener("click", (event) =>
  attempt(event, () => openTable({ ruleset: "leeds", seats: ["me", ...bots(Array(3).fill(find("#tile-bot").value))], window_seconds: 1 })),
);
find("#with-anybody").addEventListener("click", (event) => attempt(event, seek));
find("#seek-cancel").addEventListener("click", (event) => attempt(event, withdraw));
find("#with-friends").addEventListener("click", (event) =>
  attempt(event, () =>
    openTable({ ruleset: "leeds", seats: ["me", ...Array(Number(find("#tile-friends").value) - 1).fill("open")], visibility: "private" }),
  ),
);

// ---- a new table

const seats = find("#seats");
const botCount = find("#bots");

/** Fill a select with numbers; the chosen number remains if it is among them. @param {HTMLSelectElement} select @param {number} low @param {number} high @param {number} initial */
function offer(select, low, high, initial) {
  const value = Math.min(high, Math.max(low, Number(select.value || initial)));
  select.replaceChildren(...Array.from({ length: high - low + 1 }, (_, n) => new Option(String(low + n), String(low + n))));
  select.value = String(value);
}

function offerSeats() {
  const { min, max } = rulesets.selectedOptions[0].dataset;
  offer(seats, Number(min), Number(max), 3);
  offerBots();
}

function offerBots() {
  offer(botCount, 0, Number(seats.value) - 1, 2);
  const open = Number(seats.value) - 1 - Number(botCount.value);
  find("#free").textContent = open ? t("start.free", { n: open }) : t("start.none");
}

/** Begin loads into the places of the page: an update may overtake the one before. */
const load = { description: newest(), tables: newest(), own: newest(), invitations: newest(), recent: newest(), running: newest() };

/** Show the options of the chosen ruleset, and its differences from a known one. */
async function describe() {
  const isNewest = load.description();
  const id = rulesets.value;
  find("#rules-link").setAttribute("href", `/rules/${id}`);
  const ruleset = await get(`/v1/rulesets/${id}`);
  const from = read(KNOWN) ?? "shithead";
  const differs = from === id ? [] : (await get(`/v1/rulesets/${id}/differences?from=${from}`)).items;
  if (!isNewest()) return;
  replace(find("#options"), ...Object.entries(ruleset.options).map(([name, option]) => optionField(name, option)));
  const known = h("select", { "aria-label": t("start.known"), "data-key": "known", onchange: () => {
    write(KNOWN, known.value);
    describe();
  } }, [...rulesets.options].map((option) => h("option", { value: option.value, selected: option.value === from || null }, [option.text])));
  replace(
    find("#about-ruleset"),
    ruleset.reconstruction ? h("p", { class: "quiet" }, [t("start.reconstruction")]) : null,
    h("p", null, [t("start.known"), " ", known]),
    differs.length
      ? h("details", { open: differs.length < 8 || null }, [
          h("summary", null, [t("start.differs", { n: differs.length })]),
          h("ul", { lang: "en" }, differs.map((one) => h("li", null, [one.text, " ", one.rule ? h("a", { class: "quiet", href: `/rules/${id}#${one.rule}` }, [one.rule]) : ""]))),
        ])
      : h("p", { class: "quiet" }, [t("start.same")]),
  );
}

/** A control for one option of the ruleset; for a list of values, a set of checkboxes. @param {string} name @param {Api["Option"]} option */
function optionField(name, { values, default: usual }) {
  if (!values.length) return null;
  const label = t(`option.${name}`);
  if (Array.isArray(usual)) {
    return h("fieldset", { "data-option": name }, [
      h("legend", null, [label]),
      values.map((value) => h("label", { class: "box" }, [
        h("input", { type: "checkbox", value: JSON.stringify(value), checked: usual.includes(value) || null }), String(value),
      ])),
    ]);
  }
  return h("label", { class: "field" }, [
    h("span", null, [label]),
    h("select", { "data-option": name }, values.map((value) =>
      h("option", { value: JSON.stringify(value), selected: value === usual || null }, [t(`option.${name}.${value}`)]),
    )),
  ]);
}

function chosenOptions() {
  /** @type {Record<string, any>} */
  const found = {};
  for (const element of find("#options").querySelectorAll("[data-option]")) {
    const boxes = [...element.querySelectorAll("input")];
    found[element.getAttribute("data-option") ?? ""] =
      element instanceof HTMLSelectElement ? JSON.parse(element.value) : boxes.filter((box) => box.checked).map((box) => JSON.parse(box.value));
  }
  return found;
}

find("#deal").addEventListener("click", (event) =>
  attempt(event, () => {
    const open = Number(seats.value) - 1 - Number(botCount.value);
    return openTable({
      ruleset: rulesets.value,
      seats: ["me", ...Array(open).fill("open"), ...bots(Array(Number(botCount.value)).fill(find("#strength").value))],
      options: chosenOptions(),
      clock: clockOf(find("#clock").value),
      visibility: find("#private").checked ? "private" : "public",
      ...(find("#always").checked ? { deal: "always" } : {}),
      ...(open ? {} : { window_seconds: 1 }),
    });
  }),
);

async function offerStrengths() {
  const { items } = await get("/v1/bots");
  const first = (items.find((bot) => bot.name === FIRST_BOT) ?? items[0]).name;
  for (const select of /** @type {HTMLSelectElement[]} */ ([find("#strength"), find("#tile-bot")])) {
    select.replaceChildren(...items.map((bot) => {
      const option = new Option(`${bot.name} ${"●".repeat(bot.strength)}`, bot.name, bot.name === first, bot.name === first);
      option.title = has(`bot.${bot.name}`) ? t(`bot.${bot.name}`) : bot.description;
      return option;
    }));
    select.disabled = false;
  }
}

// ---- lists

/** The players in words: the names of people, the number of bots. @param {(Api["TableSeat"] | Api["GameSeat"])[]} some */
function players(some) {
  const people = some.filter((seat) => seat.kind === "human").map(seatName);
  const bots = some.filter((seat) => seat.kind === "bot").length;
  return listed([...people, ...(bots ? [t("players.bots", { n: bots })] : [])]);
}

/** @param {string} href @param {string} key @param {boolean} [main] */
const link = (href, key, main = false) => h("a", { class: `button${main ? " main" : ""}`, href, "data-key": href }, [t(key)]);

/** Whether the reader has a seat. @param {{seats: {player: string | null}[]}} game */
const isOwn = ({ seats }) => seats.some(({ player }) => player !== null && player === identity()?.id);

/** A running hand of the reader: gold if it waits for the reader, with the time left. @param {Api["GameItem"]} game */
function ownRow(game) {
  const left = game.your_turn && game.deadline ? [" · ", h("span", { class: "clock", "data-until": game.deadline })] : [];
  const detail = [players(game.seats), ...(game.your_turn ? [" · ", h("b", null, [t("own.turn")]), ...left] : [])];
  const made = row({ before: picturesOf(game.seats), title: nameOf(game.ruleset.id), detail }, link(`/play/${game.id}`, "own.play", game.your_turn));
  made.classList.toggle("yours", game.your_turn);
  return made;
}

const over = (/** @type {Api["GameItem"]} */ game) => ["ended", "aborted"].includes(game.status);

/** Take a seat at a table, and go there. @param {{id: string}} table */
async function sit(table) {
  await ensurePlayer();
  const joined = await post(`/v1/tables/${table.id}/seats`, { seat: null, entropy: entropyMode(), ...(await seatKey()) });
  location.assign(joined.game ? `/play/${joined.game}` : `/tables/${joined.id}`);
}

/** @param {Api["Table"]} table */
const join = (table) =>
  h("button", { class: "main", "data-key": `join ${table.id}`, onclick: (/** @type {Event} */ event) => attempt(event, () => sit(table)) }, [t("tables.join")]);

/** @returns {Promise<Api["Table"][]>} the tables with a free seat */
async function openTables() {
  const { items } = await get("/v1/tables?status=open&limit=30");
  return items.filter((table) => table.as === null && table.seats.some((seat) => seat.kind === "open"));
}

/** What the row of a table that waits says. @param {Api["Table"]} table */
function free({ ruleset, seats }) {
  const n = seats.filter(({ kind }) => kind === "open").length;
  const detail = t("tables.detail", { players: players(seats), n });
  return { before: picturesOf(seats), title: nameOf(ruleset.id), detail, dots: dotsOf(seats.length - n, seats.length) };
}

async function showTables() {
  const isNewest = load.tables();
  const tables = await openTables();
  await nameRulesets(tables);
  if (!isNewest()) return;
  const rows = tables.map((table) => row(free(table), h("a", { class: "button", href: `/rules/${table.ruleset.id}`, "aria-label": t("tables.rules"), "data-key": `rules ${table.id}` }, ["?"]), join(table)));
  replace(find("#tables"), h("ul", { class: "rows" }, rows), rows.length ? guestLine() : h("p", { class: "quiet none" }, [t("tables.none")]));
}

async function showOwn() {
  const section = find("#own-games");
  const isNewest = load.own();
  if (!identity()) {
    section.hidden = true;
    return;
  }
  const [{ items: games }, { items: tables }] = await Promise.all([
    get("/v1/games?player=me&limit=30"),
    get("/v1/tables?mine=true&status=open&limit=20"),
  ]);
  await nameRulesets([...games, ...tables]);
  if (!isNewest()) return;
  const running = games.filter((game) => !over(game)).sort((a, b) => Number(b.your_turn) - Number(a.your_turn));
  const rows = [
    ...running.map(ownRow),
    ...tables.filter((table) => !isKept(table)).map((table) => row(free(table), link(`/tables/${table.id}`, "own.wait"))),
  ];
  section.hidden = !rows.length;
  replace(find("#own-list"), h("ul", { class: "rows" }, rows));
  tick();
}

async function showInvitations() {
  const section = find("#invited");
  const own = identity();
  const isNewest = load.invitations();
  const items = own ? (await get("/v1/players/me/invitations")).items : [];
  await nameRulesets(items.map(({ ruleset }) => ({ ruleset: { id: ruleset } })));
  if (!isNewest()) return;
  const button = (/** @type {string} */ key, /** @type {string} */ table, /** @type {() => Promise<unknown>} */ work, main = false) =>
    h("button", { class: main ? "main" : "", "data-key": `${key} ${table}`, onclick: (/** @type {Event} */ event) => attempt(event, async () => {
      await work();
      await showInvitations();
    }) }, [t(key)]);
  const rows = items.map(({ table, host, name, ruleset }) =>
    row({ title: nameOf(ruleset), detail: t("invite.from", { name: name ?? "–" }), isPressable: false },
      button("invite.accept", table, () => sit({ id: table }), true),
      button("invite.decline", table, () => endInvitation(table, own?.id ?? "")),
      button("block.short", table, () => block({ id: host, name: name ?? "–" })),
    ));
  section.hidden = !rows.length;
  replace(find("#invited-list"), h("ul", { class: "rows" }, rows));
}

/** The title of a hand that is over: its result, with the face of the shithead under the bag. @param {Api["GameItem"]} game */
function ending({ result, seats }) {
  const loser = result?.shithead ?? null;
  const text = result && resultText(result, { who: (seat) => seatName(seats[seat]) });
  return h("span", { class: "person" }, [...(loser === null ? [] : [avatar(seats[loser], seats[loser].player), mark()]), text]);
}

async function showRecent() {
  const isNewest = load.recent();
  const { items } = await get("/v1/games?status=ended&limit=8");
  await nameRulesets(items);
  if (!isNewest()) return;
  const rows = items.map((game) => {
    const detail = [nameOf(game.ruleset.id), players(game.seats), moment(game.created_at)].join(" · ");
    return row({ title: ending(game), detail }, link(`/replay/${game.id}`, "act.replay"));
  });
  replace(find("#recent"), rows.length ? h("ul", { class: "rows" }, rows) : h("p", { class: "quiet" }, [t("recent.none")]));
}

// ---- running tables

/** Show the tables at which people or bots play now, and the newest of them with its cards; without one, a recorded hand. */
async function showRunning() {
  if (document.hidden) return;
  const isNewest = load.running();
  const { items } = await get(`/v1/games?status=playing&limit=${RUNNING}`);
  const [game] = items;
  await nameRulesets(items);
  const view = game && (await get(`/v1/games/${game.id}`));
  if (!isNewest()) return;
  const rows = items.map((one) => row({ before: picturesOf(one.seats), title: nameOf(one.ruleset.id), detail: players(one.seats) }, way(one)));
  replace(find("#playing"), rows.length ? h("ul", { class: "rows" }, rows) : h("p", { class: "quiet" }, [t("playing.none")]));
  if (!view) return showRecorded();
  endRecorded();
  const who = view.turn === null ? "" : t("running.turn", { who: seatName(view.seats[view.turn]) });
  const said = [nameOf(view.ruleset.id), who].filter(Boolean).join(" · ");
  replace(find("#running"), ...scene({ ...view, seats: view.seats.map((seat) => ({ ...seat, player: game.seats[seat.seat].player })) }, said), way(game));
}

/** The way to a running hand. @param {Api["GameItem"]} game */
const way = (game) => link(`/play/${game.id}`, isOwn(game) ? "own.play" : "recent.watch");

/** Show challenges; the list of own games leaves out their tables. */
const showAsked = () => showChallenges(attempt, nameOf, nameRulesets);

async function showLists() {
  if (document.hidden) return;
  await Promise.all([showConcerns(find("#disputes")), showInvitations(), showTables(), showAsked().then(showOwn), showRecent(), showSeekers()]).finally(() => {
    for (const section of document.querySelectorAll(".filling")) section.classList.remove("filling"); // all at once, so nothing moves
  });
}

/** Update the lists; while that fails, the page says that it has no connection. */
async function update() {
  try {
    await showLists();
    connected("lists", true);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    connected("lists", false);
  }
}

await start("lobby");
setTitle(t("lobby.page"));
offerSettings(() => {});
showAccount();
rulesets.addEventListener("change", () => {
  offerSeats();
  describe();
});
const asked = new URLSearchParams(location.search).get("ruleset"); // a link of a rules page
if (asked) await choose(asked);
seats.addEventListener("change", offerBots);
botCount.addEventListener("change", offerBots);
offerSeats();
await checkPlayer();
setInterval(() => showRunning().catch(() => {}), LIVELY);
setInterval(update, POLL);
document.addEventListener("visibilitychange", update);
addEventListener("online", update);
let due = 0;
addEventListener("notice", () => {
  clearTimeout(due); // a snapshot has several
  due = setTimeout(update, 200);
});
try {
  await Promise.all([describe(), offerStrengths(), showLists(), showRunning(), offerSeek(), offerChallenge(attempt, showAsked)]);
} finally {
  // One list without an answer takes no other way to a table away.
  for (const button of document.querySelectorAll("button:disabled")) if (button instanceof HTMLButtonElement) button.disabled = false;
}
