/** The page /verify: takes a file or the id of a game, and shows the checks as they are made. */

import { looseText, NotABundle, readFile } from "../verifier/bundle.js";
import { utf8 } from "../verifier/bytes.js";
import { readKeys } from "../verifier/notes.js";
import { LEFT_OUT, NAMES, adviceOf, authorOf, resultOf, verify } from "../verifier/verify.js";
import { identity } from "./api.js";
import { caption, seatName } from "./captions.js";
import { spelled } from "./cards.js";
import { find, h, replace } from "./dom.js";
import { start, t } from "./i18n.js";
import { receiptsOf, storedKeys } from "./record.js";

/** @typedef {import("../verifier/verify.js").Finding} Finding */
/** @typedef {import("../verifier/verify.js").Author} Author */
/** @typedef {import("../verifier/log.js").Log} Log */

/** @type {Record<string, string>} */
const SIGNS = { pass: "✓", fail: "✗", missing: "?", "n/a": "–", part: "◐" };
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const STORE = "shithead.verify"; // of the service worker

let run = 0; // an earlier verification that is still going on shows nothing any more
/** The seats of the games that were fetched here, with names, which no file has. @type {Map<string, any[]>} */
const seated = new Map();
let game = ""; // of the file that is checked

/** @param {number} seat @returns {string} its name, or its number at the table */
function who(seat) {
  const found = seated.get(game)?.[seat];
  return found ? seatName(found) : t("seat.number", { n: seat + 1 });
}

/** @param {{code: string, values?: Record<string, any>}} sentence @returns {string} with the names of seats and cards in it */
function inWords({ code, values = {} }) {
  const named = { ...values };
  for (const key of ["seat", "dealer"]) if (Number.isInteger(values[key])) named[key] = who(values[key]);
  if (values.card) named.card = spelled(values.card);
  const made = t(code, named);
  return made[0].toLocaleUpperCase() + made.slice(1);
}

/** @param {Blob & {name?: string}} file @param {string} name */
async function check(file, name) {
  const mine = ++run;
  reset(name);
  try {
    const { refused, bundle } = await readOrRefuse(await bytesOf(file));
    game = /(?<="game":")[0-9a-f-]{36}/.exec(looseText(bundle.lines[0] ?? new Uint8Array()))?.[0] ?? "";
    const outside = await fromOutside();
    const shown = new Map();
    const { log, findings } = await verify(bundle, outside, {
      progress: (fraction) => {
        if (mine === run) find("#progress").value = fraction;
      },
      found: async (finding) => {
        if (mine !== run) return;
        shown.set(finding.check, show(finding));
        await nextFrame();
      },
    });
    if (mine !== run) return;
    const author = refused ? "damaged" : authorOf(findings, outside);
    for (const finding of findings) if (finding.result === "fail") explain(shown.get(finding.check), finding, author, log);
    if (refused) return refuse(refused, findings);
    verdict(resultOf(findings, outside), findings, author);
  } catch (error) {
    if (mine !== run) return;
    if (!(error instanceof NotABundle)) throw error;
    replace(find("#checks"));
    refuse(error);
  }
}

/**
 * Return the content of a file. A bundle is refused if its log was changed; the checks are made on
 * the changed log all the same, because they show the place.
 *
 * @param {Uint8Array} data
 * @returns {Promise<{refused: NotABundle | null, bundle: import("../verifier/bundle.js").Bundle}>} throws NotABundle
 */
async function readOrRefuse(data) {
  try {
    return { refused: null, bundle: await readFile(data) };
  } catch (error) {
    if (!(error instanceof NotABundle && error.rest)) throw error;
    return { refused: error, bundle: error.rest };
  }
}

/** @returns {Promise<unknown>} after the browser has drawn what there is */
const nextFrame = () => new Promise((done) => (document.hidden ? setTimeout(done) : requestAnimationFrame(() => setTimeout(done))));

/**
 * Return what the person stored, from the fields of the page, and what this browser stored during
 * the game: its receipts and, if no key is given, the keys of the server.
 *
 * @returns {Promise<import("../verifier/outside.js").Outside>}
 */
async function fromOutside() {
  const stored = game ? receiptsOf(game) : [];
  const receipts = [...stored.map(utf8), ...(await Promise.all([...find("#receipts").files].map(bytesOf)))];
  const keys = async (/** @type {"server" | "witness"} */ id, /** @type {boolean} */ witness) => {
    const texts = (await Promise.all([...find(`#${id}-file`).files].map(bytesOf))).map(looseText);
    texts.push(find(`#${id}`).value);
    const given = texts.filter((one) => one.trim());
    const read = await Promise.all(given.map((one) => readKeys(one, witness)));
    if (read.some((one) => !one.length)) throw new NotABundle("key");
    return read.flat();
  };
  const witnessKeys = await keys("witness", true);
  const given = await keys("server", false);
  const own = stored.length && !given.length ? await readKeys(storedKeys()) : [];
  if (stored.length) find("#stored").textContent = t(own.length ? "page.stored.keys" : "page.stored", { n: stored.length });
  return { receipts, serverKeys: [...given, ...own], witnessKeys, quorum: witnessKeys.length };
}

/** @param {Blob} file */
const bytesOf = async (file) => new Uint8Array(await file.arrayBuffer());

/** @param {string} status a class @param {any[]} children */
function showVerdict(status, ...children) {
  find("#result").hidden = false;
  find("#verdict").className = status;
  replace(find("#verdict"), ...children);
}

/** @param {string} name */
function reset(name) {
  showVerdict("", t("page.running"));
  find("#name").textContent = name;
  find("#stored").textContent = "";
  find("#save").hidden = true;
  find("#progress").value = 0;
  replace(find("#checks"), NAMES.map((check) => row(check, "waiting", "…")));
  find("#result").scrollIntoView({ block: "start" });
}

/** @param {string} check @param {string} state a key of SIGNS, or waiting @param {string} word @param {any[]} [more] */
function row(check, state, word, more = []) {
  return h("li", { id: `check-${check}`, class: state === "n/a" ? "na" : state }, [
    h("span", { class: "sign", "aria-hidden": "true" }, [SIGNS[state] ?? "…"]),
    h("div", null, [
      h("h3", null, [t(`check.${check}`), " ", h("span", { class: "tag" }, [word])]),
      h("p", { class: "quiet" }, [t(`asks.${check}`)]),
      more,
    ]),
  ]);
}

/** @param {import("../verifier/outside.js").Range} part @returns {string} for which events a check counts */
function counting({ from, to }) {
  if (to < from) return t("part.none");
  if (!from) return t("part.before", { seq: to + 1 });
  return t(from === to ? "part.one" : "part.range", { from, to });
}

/** @param {Finding} finding @returns {Element} */
function show({ check, result, seq, reason, remarks, part }) {
  const place = result === "fail" && seq !== null ? t("page.entry", { seq }) : "";
  const sentences = [...(reason ? [reason] : []), ...remarks];
  const partly = part && result === "pass";
  const made = row(check, partly ? "part" : result, partly ? counting(part) : t(`result.${result}`), sentences.map((one) =>
    h("p", { class: "reason" }, [place, inWords(one)]),
  ));
  find(`#check-${check}`).replaceWith(made);
  return made;
}

/**
 * Add to a failed check who can have caused it, what to do next, and the events that it is about.
 *
 * @param {Element} made
 * @param {Finding} finding
 * @param {Author} author
 * @param {Log} log
 */
function explain(made, finding, author, log) {
  const { seq, reason } = finding;
  const place = /** @type {Element} */ (made.querySelector("div"));
  const advice = adviceOf(finding, author);
  if (advice) place.append(h("p", { class: "next" }, [t(advice)]));
  if (seq === null || !log.lines[seq]) return;
  const next = reason?.values.next;
  for (const at of [seq, ...(typeof next === "number" ? [next] : [])]) {
    place.append(
      h("h4", null, [t("page.shown", { seq: at, what: happened(log, at) })]),
      h("details", null, [
        h("summary", null, [t("page.raw")]),
        at === seq && reason?.values.where ? h("p", null, [t("bytes.where", reason.values)]) : "",
        h("pre", { tabindex: 0 }, [pretty(log.lines[at])]),
      ]),
    );
  }
  if (game) place.append(h("p", null, [h("a", { href: `/replay/${game}?event=${seq}`, onclick: seated.has(game) ? null : lookFirst }, [t("page.replay", { seq })])]));
}

/** Go to a game's replay, or say that this server does not show the game: a file can be of another server. @param {MouseEvent & {currentTarget: HTMLAnchorElement}} event */
async function lookFirst(event) {
  event.preventDefault();
  const link = event.currentTarget;
  const view = await ask("").catch(() => null);
  if (view?.ok) location.assign(link.href);
  else link.replaceWith(t(view ? "page.no_game" : "page.no_server"));
}

/** Ask the server for a part of the game, as the player of this browser if there is one. @param {string} part */
function ask(part) {
  const token = identity()?.token;
  return fetch(`/v1/games/${game}${part}`, { credentials: "omit", headers: token ? { Authorization: `Bearer ${token}` } : undefined });
}

/** @param {Log} log @param {number} at @returns {string} the event as a sentence */
function happened(log, at) {
  const event = log.events[at];
  return event ? caption(/** @type {any} */ (event), { who, aloud: true }) : t("page.unreadable");
}

/** @param {Uint8Array} line */
function pretty(line) {
  const source = looseText(line.subarray(0, 20_000));
  try {
    return JSON.stringify(JSON.parse(source), null, 1);
  } catch {
    return source || t("page.unreadable");
  }
}

/** @param {0 | 1 | 2} status @param {Finding[]} findings @param {Author} author who can have changed it */
function verdict(status, findings, author) {
  const failed = findings.filter((finding) => finding.result === "fail");
  showVerdict(
    `status-${status}`,
    h("h2", null, [t(`verdict.${status}`)]),
    h("p", null, [t(`verdict.${status}.why`, { n: failed.length, of: findings.length })]),
    failed.length ? whoAndMore(author) : null,
    firstOf(findings),
    h("p", { class: "quiet" }, [t("left_out"), " ", t("verdict.never")]),
  );
}

/** @param {Author} author @returns {Element[]} who can have done it, and what would prove more */
const whoAndMore = (author) => ["who", "more"].map((part) => h("p", null, [t(`verdict.${part}.${author}`)]));

/** @param {Finding[]} findings @returns {Element | null} a link to the first that failed */
function firstOf(findings) {
  const first = findings.find((finding) => finding.result === "fail");
  return first ? h("p", null, [h("a", { href: `#check-${first.check}` }, [t("page.first")])]) : null;
}

/** @param {{code: string, values?: Record<string, any>}} reason a sentence @param {Finding[]} [findings] made all the same */
function refuse({ code, values }, findings = []) {
  find("#progress").value = 1;
  const heading = code === "file.changed" ? "page.changed" : "page.refused";
  showVerdict("status-3", h("h2", null, [t(heading)]), h("p", null, [t(code, values)]),
    code === "file.changed" ? whoAndMore("damaged") : null, firstOf(findings));
}

/** Fetch the evidence of a game of this server, as the player of this browser if there is one. @param {string} given */
async function fetchGame(given) {
  const id = UUID.exec(given)?.[0].toLowerCase();
  if (!id) return refuse({ code: "page.no_id" });
  game = id;
  let answer;
  try {
    answer = await ask("/evidence");
  } catch {
    return refuse({ code: "page.no_server" });
  }
  if (!answer.ok) return refuse({ code: answer.status === 404 ? "page.no_game" : "page.no_evidence", values: { status: answer.status } });
  const file = await answer.blob();
  const view = await ask("").catch(() => null);
  if (view?.ok) seated.set(id, (await view.json()).seats);
  await check(file, `${id}.shx`);
  const save = find("#save");
  URL.revokeObjectURL(save.href);
  Object.assign(save, { href: URL.createObjectURL(file), download: `${id}.shx`, hidden: false });
}

/** Check the file that was given last again, with new receipts or keys. @type {(() => void) | null} */
let again = null;

/** @param {Blob & {name?: string}} file */
function take(file) {
  again = () => {
    find("#progress").value = 0;
    void check(file, file.name ?? "");
  };
  again();
}

function listen() {
  const drop = find("#drop");
  find("#file").addEventListener("change", () => find("#file").files[0] && take(find("#file").files[0]));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
  find("#by-id").addEventListener("submit", (event) => {
    event.preventDefault();
    again = () => void fetchGame(find("#game").value);
    again();
  });
  find("#outside").addEventListener("change", () => again?.());
}

/** Let the browser store the page, and the words of this language, for a time without the server. @param {string[]} words */
async function store(words) {
  if (!("serviceWorker" in navigator)) return;
  await navigator.serviceWorker.register("/verify/worker.js", { scope: "/verify" });
  await navigator.serviceWorker.ready;
  const cache = await caches.open(STORE);
  await cache.addAll(words);
  find("#offline").textContent = t("page.offline");
}

const words = await start("verify");
find("#left-out").textContent = LEFT_OUT.map((check) => t(`check.${check}`)).join(" · ");
listen();
find("#app").hidden = false;
const wanted = new URLSearchParams(location.search).get("game");
if (wanted) {
  find("#game").value = wanted;
  find("#by-id").requestSubmit();
}
await store(words);
