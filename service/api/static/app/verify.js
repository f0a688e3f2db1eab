/** The page /verify: runs all checks on a file or a game and shows each result. */

import { NotABundle } from "../verifier/archive.js";
import { looseText } from "../verifier/bundle.js";
import { utf8 } from "../verifier/bytes.js";
import { distinct, readKeys, readRestores } from "../verifier/notes.js";
import { NAMES, adviceOf, authorOf, resultOf, verdictOf, verify } from "../verifier/verify.js";
import { identity } from "./api.js";
import { caption, seatName } from "./captions.js";
import { spelled } from "./cards.js";
import { find, h, replace } from "./dom.js";
import "./elsewhere.js";
import { begun, seatWords, start, t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { showAccount } from "./player.js";
import { receiptsOf, storedKeys } from "./receipts.js";
import { blobOf, bytesOf, sourceOf, sourcesIn } from "./sources.js";
import { setTitle } from "./title.js";
import { checkMany, closeMany } from "./verify_many.js";

/** @typedef {import("../verifier/verify.js").Finding} Finding */
/** @typedef {import("../verifier/verify.js").Author} Author */
/** @typedef {Pick<import("../verifier/log.js").Log, "lines" | "events">} Log */
/** @typedef {{progress: (fraction: number) => void, found: (finding: Finding) => unknown}} Callbacks */

/** @type {Record<string, string>} */
const SIGNS = { pass: "✓", fail: "✗", missing: "?", "n/a": "–", part: "◐" };
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;
const STORE = "shithead.verify"; // the cache of the service worker
const WORKER = "../verifier/checks_worker.js";

let run = 0; // number of the latest verification; earlier ones show nothing more
/** The seats, with names, of the games that were fetched here; files have no names. @type {Map<string, any[]>} */
const seated = new Map();
let game = ""; // the id of the game in the file

/** @param {number} seat @returns {string} its name, or its number at the table */
function who(seat) {
  const found = seated.get(game)?.[seat];
  return found ? seatName(found) : seatWords(seat);
}

/** @param {{code: string, values?: Record<string, any>}} sentence @returns {string} the sentence, with names for seats and cards */
function inWords({ code, values = {} }) {
  const names = { ...values };
  for (const key of ["seat", "dealer", "taker", "turn", "due"]) if (Number.isInteger(values[key])) names[key] = who(values[key]);
  for (const key of ["card", "on"]) if (values[key]) names[key] = spelled(values[key]);
  return begun(t(code, names));
}

/** @param {import("../verifier/bundle.js").Bundle} bundle @returns {string} the id of its game, "" if it names none */
const gameIn = ({ lines }) => /"game":"([0-9a-f-]{36})/.exec(looseText(lines[0] ?? new Uint8Array()))?.[1] ?? "";

/** Verify a record, and show the checks. @param {import("./sources.js").Source} source */
async function check(source) {
  const own = ++run;
  reset(source.name);
  try {
    const bundle = await source.read();
    if (own !== run) return;
    game = gameIn(bundle);
    const outside = await fromOutside(game, (text) => own === run && (find("#stored").textContent = text));
    if (own !== run) return;
    const rows = new Map();
    const { log, findings } = await checked(bundle, outside, {
      progress: (fraction) => {
        if (own === run) find("#progress").value = fraction;
      },
      found: async (finding) => {
        if (own !== run) return;
        rows.set(finding.check, show(finding, !!outside.serverKeys.length && !outside.quorum));
        await nextFrame();
      },
    });
    if (own !== run) return;
    const author = authorOf(findings, outside);
    for (const finding of findings) if (finding.result === "fail") explain(rows.get(finding.check), finding, author, log);
    void showRule(findings, rows, log).catch(() => {}); // the texts of the rules cannot be loaded: the finding stands without
    verdict(resultOf(findings, outside), findings, author);
  } catch (error) {
    if (own !== run) return;
    replace(find("#checks"));
    refuse(error instanceof NotABundle ? error : { code: "page.stopped" });
    if (!(error instanceof NotABundle)) throw error;
  }
}

/** The worker that checks the present file, and the one that checks many. @type {Record<string, Worker | undefined>} */
const workers = {};

/**
 * Make all checks in a worker; if it cannot start, as in a browser without modules in workers, on the page.
 *
 * @param {import("../verifier/bundle.js").Bundle} bundle
 * @param {import("../verifier/outside.js").Outside} outside
 * @param {Callbacks} callbacks
 * @returns {Promise<{log: Log, findings: Finding[]}>}
 */
async function checked(bundle, outside, callbacks) {
  workers["one"]?.terminate();
  delete workers["one"];
  return inWorker("one", bundle, outside, callbacks);
}

/** Make all checks in the worker of a name, which has no other work. @param {string} name @param {import("../verifier/bundle.js").Bundle} bundle @param {import("../verifier/outside.js").Outside} outside @param {Callbacks} callbacks @returns {Promise<{log: Log, findings: Finding[]}>} */
async function inWorker(name, bundle, outside, callbacks) {
  if (!("Worker" in window)) return verify(bundle, outside, callbacks);
  const own = (workers[name] ??= new Worker(new URL(WORKER, import.meta.url), { type: "module" }));
  return new Promise((done, fail) => {
    own.onerror = () => verify(bundle, outside, callbacks).then(done, fail);
    own.onmessage = ({ data: { progress, finding, result } }) => {
      if (progress !== undefined) callbacks.progress(progress);
      if (finding) callbacks.found(finding);
      if (result) done(result);
    };
    own.postMessage({ bundle, outside });
  });
}

/** Verify one of several records. @param {import("./sources.js").Source} source */
async function judge(source) {
  const bundle = await source.read();
  const outside = await fromOutside(gameIn(bundle));
  const { findings } = await inWorker("many", bundle, outside, { progress: () => {}, found: () => {} });
  return { findings, outside };
}

/** Show the rule that an illegal move breaks. @param {Finding[]} findings @param {Map<string, Element>} rows @param {Log} log */
async function showRule(findings, rows, log) {
  const found = findings.find(({ check, result }) => check === "legality" && result === "fail");
  if (!found) return;
  const { ruleOf } = await import("../verifier/statements.js");
  const { id } = log.events[0].data.ruleset;
  const rule = ruleOf(id, found.reason?.values.cite);
  if (!rule) return;
  const place = /** @type {Element} */ (rows.get("legality")?.querySelector(".reason"));
  place.after(
    h("blockquote", { class: "rule" }, [t("page.rule", { id: rule.id }), " ", h("span", { lang: "en" }, [rule.texts.join(" ")])]),
    id.startsWith("custom-") ? "" : h("p", null, [h("a", { href: `/rules/${id}#${rule.id}` }, [t("page.rules")])]),
  );
}

/** @returns {Promise<unknown>} resolved after the browser has drawn the page */
const nextFrame = () => new Promise((done) => (document.hidden ? setTimeout(done) : requestAnimationFrame(() => setTimeout(done))));

/**
 * Return the evidence in the fields of the page, with the receipts that this browser stored during
 * the game and, if no server key is entered, the stored keys of the server, or those that it sends now.
 *
 * @param {string} game
 * @param {(text: string) => unknown} [say] is called with what was used beside the fields
 * @returns {Promise<import("../verifier/outside.js").Outside>}
 */
async function fromOutside(game, say = () => {}) {
  const stored = game ? receiptsOf(game) : [];
  const files = await Promise.all([...find("#receipts").files].map(bytesOf));
  const receipts = [...stored.map(utf8), ...files];
  /** @type {string[]} */
  const restores = [];
  const read = (/** @type {string} */ text, witness = false) => {
    if (!witness) restores.push(...readRestores(text));
    return readKeys(text, witness);
  };
  const keys = async (/** @type {"server" | "witness"} */ id, /** @type {boolean} */ witness) => {
    const texts = (await Promise.all([...find(`#${id}-file`).files].map(bytesOf))).map(looseText);
    texts.push(find(`#${id}`).value);
    const lists = await Promise.all(texts.filter((text) => text.trim()).map((text) => read(text, witness)));
    if (lists.some((list) => !list.length)) throw new NotABundle("key");
    return lists.flat();
  };
  const witnessKeys = distinct(await keys("witness", true));
  const entered = await keys("server", false);
  const own = stored.length && !entered.length ? await read(storedKeys()) : [];
  if (stored.length) say(t(own.length ? "page.stored.keys" : "page.stored", { n: stored.length }));
  const serverKeys = [...entered, ...own];
  if (find("#offered").checked && !serverKeys.length) {
    const sent = await fetch("/v1/keys", { credentials: "omit" }).then((answer) => answer.text()).catch(() => "");
    serverKeys.push(...(await read(sent)));
    if (!serverKeys.length) say(t("page.no_server"));
  }
  const quorum = witnessKeys.length && Math.max(0, Math.floor(Number(find("#quorum").value)));
  return { receipts, serverKeys, restores, witnessKeys, quorum: quorum || witnessKeys.length };
}

/** Show the result. @param {string} status its class @param {any[]} children */
function showVerdict(status, ...children) {
  find("#result").hidden = false;
  find("#verdict").className = status;
  replace(find("#verdict"), ...children);
}

/** Clear the results of the last file. @param {string} name of the new file */
function reset(name) {
  showVerdict("", t("page.running"));
  find("#name").textContent = name;
  find("#stored").textContent = "";
  find("#save").hidden = true;
  find("#progress").value = 0;
  replace(find("#checks"), NAMES.map((check) => row(check, "waiting", "…")));
  find("#result").scrollIntoView({ block: "start" });
}

/** @param {string} check @param {string} state a key of SIGNS, or waiting @param {string} label the state in words @param {any[]} [more] */
function row(check, state, label, more = []) {
  return h("li", { id: `check-${check}`, class: state === "n/a" ? "na" : state }, [
    h("span", { class: "sign", "aria-hidden": "true" }, [SIGNS[state] ?? "…"]),
    h("div", null, [
      h("h3", null, [t(`check.${check}`), " ", h("span", { class: "tag" }, [label])]),
      h("p", { class: "quiet" }, [t(`asks.${check}`)]),
      more,
    ]),
  ]);
}

/** @param {import("../verifier/outside.js").Range} part @returns {string} the events that a check covers, in words */
function covered({ from, to }) {
  if (to < from) return t("part.none");
  if (!from) return t("part.before", { seq: to + 1 });
  return t(from === to ? "part.one" : "part.range", { from, to });
}

/** Show a finding. @param {Finding} finding @param {boolean} keyed with the server's key, and without witnesses @returns {Element} its row */
function show({ check, result, seq, reason, remarks, part }, keyed) {
  const place = result === "fail" && seq !== null ? t("page.entry", { seq }) : "";
  const sentences = [...(reason ? [reason] : []), ...remarks];
  const partly = part && result === "pass";
  const item = row(check, partly ? "part" : result, partly ? covered(part) : t(`result.${result}`), sentences.map((sentence) =>
    h("p", { class: "reason" }, [place, inWords(sentence)]),
  ));
  if (keyed && /no_receipt|not_anch/.test(reason?.code ?? "")) item.classList.add("absent");
  find(`#check-${check}`).replaceWith(item);
  return item;
}

/**
 * Add the next step and the events concerned to the row of a failed check.
 *
 * @param {Element} item the row
 * @param {Finding} finding
 * @param {Author} author
 * @param {Log} log
 */
function explain(item, finding, author, log) {
  const { seq, reason } = finding;
  const place = /** @type {Element} */ (item.querySelector("div"));
  const advice = adviceOf(finding, author);
  if (advice) place.append(h("p", { class: "next" }, [t(advice)]));
  if (seq === null || !log.lines[seq]) return;
  const next = reason?.values.next;
  for (const at of [seq, ...(typeof next === "number" ? [next] : [])]) {
    place.append(
      h("h4", null, [t("page.shown", { seq: at, what: sentenceOf(log, at) })]),
      h("details", null, [
        h("summary", null, [t("page.raw")]),
        at === seq && reason?.values.where ? h("p", null, [t("bytes.where", reason.values)]) : "",
        h("pre", { tabindex: 0 }, [pretty(log.lines[at])]),
      ]),
    );
  }
  if (game) place.append(h("p", null, [h("a", { href: `/replay/${game}?event=${seq}`, onclick: seated.has(game) ? null : openReplay }, [t("page.replay", { seq })])]));
}

/** Open a game's replay, or state that this server does not show the game: the file can be from another server. @param {MouseEvent & {currentTarget: HTMLAnchorElement}} event */
async function openReplay(event) {
  event.preventDefault();
  const link = event.currentTarget;
  const view = await request("").catch(() => null);
  if (view?.ok) location.assign(link.href);
  else link.replaceWith(t(view ? "page.no_game" : "page.no_server"));
}

/** Request a part of the game from the server, with the token of this browser, if any. @param {string} part of the path */
function request(part) {
  const token = identity()?.token;
  return fetch(`/v1/games/${game}${part}`, { credentials: "omit", headers: token ? { Authorization: `Bearer ${token}` } : undefined });
}

/** @param {Log} log @param {number} at @returns {string} the event as a sentence */
function sentenceOf(log, at) {
  const event = log.events[at];
  return event ? begun(caption(/** @type {any} */ (event), { who, aloud: true })) : t("page.unreadable");
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

/** @param {0 | 1 | 2} status @param {Finding[]} findings @param {Author} author the possible author of a change */
function verdict(status, findings, author) {
  const [failed, passed, open] = ["fail", "pass", "missing"].map((result) => findings.filter((finding) => finding.result === result));
  const why = status === 0 && open.length ? "verdict.0.open" : `verdict.${status}.why`;
  showVerdict(
    `status-${status}`,
    h("h2", null, [t(verdictOf(status, findings))]),
    h("p", null, [t(why, { n: failed.length, of: findings.length, open: open.length, passed: passed.length, made: passed.length + open.length })]),
    failed.length ? authorship(author) : signers(findings),
    firstFailure(findings),
    h("p", { class: "quiet" }, [t("verdict.never")]),
  );
}

/** @param {Finding[]} findings @returns {Element} who vouches for the record beside the file itself, since when, and what that excludes */
function signers(findings) {
  const signed = findings.filter(({ check, result }) => result === "pass" && ["receipts", "anchor", "witness"].includes(check));
  const values = (/** @type {Finding} */ { remarks }) => remarks.find(({ code }) => code === "witness.signed")?.values ?? {};
  return h("section", { id: "signers", "aria-labelledby": "signers-title" }, [
    h("h3", { id: "signers-title" }, [t("signed.title")]),
    signed.length ? h("ul", null, signed.map((one) => h("li", null, [t(`signed.${one.check}`, values(one))]))) : h("p", null, [t("signed.nobody")]),
  ]);
}

/** @param {Author} author @returns {Element[]} sentences on the possible author and on further evidence */
const authorship = (author) => ["who", "more"].map((part) => h("p", null, [t(`verdict.${part}.${author}`)]));

/** @param {Finding[]} findings @returns {Element | null} a link to the first failed check */
function firstFailure(findings) {
  const first = findings.find((finding) => finding.result === "fail");
  return first ? h("p", null, [h("a", { href: `#check-${first.check}` }, [t("page.first")])]) : null;
}

/** Show why a file is refused. @param {{code: string, values?: Record<string, any>}} reason */
function refuse({ code, values }) {
  find("#progress").value = 1;
  showVerdict("status-3", h("h2", null, [t("page.refused")]), h("p", null, [t(code, values)]));
}

/** Fetch the evidence of a game of this server, and verify it unless another file was chosen meanwhile. @param {string} address or id */
async function fetchGame(address) {
  const own = ++run;
  const id = UUID.exec(address)?.[0].toLowerCase();
  if (!id) return refuse({ code: "page.no_id" });
  game = id;
  const name = `${id}.shx`;
  find("#name").textContent = name; // it may take two lines
  const answer = await request("/evidence").catch(() => null);
  const file = answer?.ok ? await blobOf(answer).catch((error) => error) : null;
  if (own !== run) return;
  if (file instanceof NotABundle) return refuse(file);
  if (!answer || file instanceof Error) return refuse({ code: "page.no_server" });
  if (!file) return refuse({ code: answer.status === 404 ? "page.no_game" : "page.no_evidence", values: { status: answer.status } });
  const view = await request("").catch(() => null);
  if (view?.ok) seated.set(id, (await view.json()).seats);
  if (own !== run) return;
  await check(sourceOf(file, name));
  if (own + 1 !== run) return;
  const save = find("#save");
  URL.revokeObjectURL(save.href);
  Object.assign(save, { href: URL.createObjectURL(file), download: name, hidden: false });
}

/** Verify the last file again, with new receipts or keys. @type {(() => void) | null} */
let again = null;

/** Verify the evidence in files and folders: one record, or each of several. @param {(File | FileSystemEntry)[]} items */
async function take(items) {
  const own = ++run;
  closeMany();
  reset(items[0].name);
  const found = await sourcesIn(items).catch((error) => {
    if (error instanceof NotABundle) return error;
    throw error;
  });
  if (own !== run) return;
  if (found instanceof NotABundle || !found.sources.length) {
    replace(find("#checks"));
    return refuse(found instanceof NotABundle ? found : { code: "file.folder" });
  }
  const { sources, others } = found;
  again = () => {
    find("#progress").value = 0;
    if (sources.length === 1) return void check(sources[0]);
    find("#result").hidden = true;
    void checkMany(sources, others, judge, check);
  };
  again();
}

/** Fetch the game whose id is in the field, and verify it. */
function fetchRequested() {
  closeMany();
  again = () => void fetchGame(find("#game").value);
  again();
}

/** @param {DataTransfer} dropped @returns {(File | FileSystemEntry)[]} its files and folders */
const itemsOf = ({ items }) =>
  [...items].filter(({ kind }) => kind === "file").flatMap((item) => {
    const found = item.webkitGetAsEntry?.() ?? item.getAsFile();
    return found ? [found] : [];
  });

function listen() {
  const drop = find("#drop");
  find("#file").addEventListener("change", () => find("#file").files.length && take([...find("#file").files]));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", () => drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const items = event.dataTransfer ? itemsOf(event.dataTransfer) : [];
    if (items.length) void take(items);
  });
  find("#by-id").addEventListener("submit", (event) => {
    event.preventDefault();
    fetchRequested();
  });
  find("#outside").addEventListener("change", () => again?.());
}

/** Store the page, and what it loads later, in the browser, for use without the server. @param {string[]} addresses of further files */
async function store(addresses) {
  if (!("serviceWorker" in navigator)) return;
  await navigator.serviceWorker.register("/verify/worker.js", { scope: "/verify" });
  await navigator.serviceWorker.ready;
  const cache = await caches.open(STORE);
  await cache.addAll(addresses);
  find("#offline").textContent = t("page.offline");
}

const addresses = await start("verify");
offerMenu();
showAccount();
setTitle(t("page.title"));
listen();
const requested = new URLSearchParams(location.search).get("game");
find("#result").hidden = !requested; // its place is kept, so nothing moves when it arrives
find("#app").hidden = false;
if (requested) {
  find("#game").value = requested;
  fetchRequested();
}
const later = [WORKER, "../verifier/statements.js"].map((path) => new URL(path, import.meta.url).href);
await store([...addresses, ...later]).catch(() => {}); // a browser may store nothing: then the page does not claim that it works offline
