/** The page /verify: takes a file or the id of a game, and shows the checks as they are made. */

import { looseText, NotABundle, readFile } from "./bundle.js";
import { readKeys } from "./notes.js";
import { say } from "./strings.js";
import { LEFT_OUT, NAMES, resultOf, verify } from "./verify.js";

/** @typedef {import("./verify.js").Finding} Finding */
/** @typedef {import("./log.js").Log} Log */

const SIGNS = { pass: "✓", fail: "✗", missing: "?", "n/a": "–" };
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

/** @param {string} selector @returns {any} */
const find = (selector) => document.querySelector(selector);

/**
 * Return a new element; text only ever becomes text nodes.
 *
 * @param {string} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} [children]
 */
function element(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

let run = 0; // an earlier verification that is still going on shows nothing any more

/** @param {Uint8Array} data @param {string} name */
async function check(data, name) {
  const mine = ++run;
  reset(name);
  try {
    const bundle = await readFile(data);
    const outside = await fromOutside();
    /** @type {Log | null} */
    let log = null;
    const shown = new Map();
    const done = await verify(bundle, outside, {
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
    log = done.log;
    for (const finding of done.findings) if (finding.result === "fail") showEvent(shown.get(finding.check), finding, log);
    verdict(resultOf(done.findings, outside), done.findings);
  } catch (error) {
    if (mine !== run) return;
    if (!(error instanceof NotABundle)) throw error;
    refuse(say(error.code, error.values));
  }
}

/** @returns {Promise<unknown>} after the browser has drawn what there is */
const nextFrame = () => new Promise((done) => (document.hidden ? setTimeout(done) : requestAnimationFrame(() => setTimeout(done))));

/** @returns {Promise<import("./outside.js").Outside>} what the person stored, from the fields of the page */
async function fromOutside() {
  const receipts = await Promise.all([...find("#receipts").files].map(bytesOf));
  /** @param {string} id @param {boolean} witness */
  const keys = async (id, witness) => {
    const texts = (await Promise.all([...find(`#${id}-file`).files].map(bytesOf))).map(looseText);
    texts.push(find(`#${id}`).value);
    const given = texts.filter((one) => one.trim());
    const read = await Promise.all(given.map((one) => readKeys(one, witness)));
    if (read.some((one) => !one.length)) throw new NotABundle("key");
    return read.flat();
  };
  const witnessKeys = await keys("witness", true);
  return { receipts, serverKeys: await keys("server", false), witnessKeys, quorum: witnessKeys.length };
}

/** @param {Blob} file */
const bytesOf = async (file) => new Uint8Array(await file.arrayBuffer());

/** @param {string} name */
function reset(name) {
  find("#result").hidden = false;
  find("#name").textContent = name;
  find("#progress").value = 0;
  find("#verdict").className = "";
  find("#verdict").replaceChildren(say("page.running"));
  find("#checks").replaceChildren(...NAMES.map((check) => row(check, "waiting", "…")));
  find("#result").scrollIntoView({ block: "start" });
}

/** @param {string} check @param {string} result @param {string} sign */
function row(check, result, sign) {
  const word = result === "waiting" ? "" : say(`result.${result}`);
  return element("li", { id: `check-${check}`, class: result === "n/a" ? "na" : result }, [
    element("span", { class: "sign", "aria-hidden": "true" }, [sign]),
    element("div", {}, [
      element("h3", {}, [say(`check.${check}`), " ", element("span", { class: "tag" }, [word || "…"])]),
      element("p", { class: "quiet" }, [say(`asks.${check}`)]),
    ]),
  ]);
}

/** @param {Finding} finding @returns {Element} */
function show({ check, result, seq, reason, remarks }) {
  const made = row(check, result, SIGNS[result]);
  const body = made.querySelector("div");
  for (const { code, values } of [...(reason ? [reason] : []), ...remarks]) {
    const place = result === "fail" && seq !== null ? say("page.entry", { seq }) : "";
    body?.append(element("p", { class: "reason" }, [place, say(code, values)]));
  }
  find(`#check-${check}`).replaceWith(made);
  return made;
}

/** @param {Element} made @param {Finding} finding @param {Log} log */
function showEvent(made, { seq, reason }, log) {
  if (seq === null || !log.lines[seq]) return;
  const next = reason?.values.next;
  const shown = [seq, ...(typeof next === "number" ? [next] : [])];
  const parts = shown.map((at) =>
    element("div", {}, [element("h4", {}, [say("page.shown", { seq: at })]), element("pre", { tabindex: "0" }, [pretty(log.lines[at])])]),
  );
  made.querySelector("div")?.append(...parts);
}

/** @param {Uint8Array} line */
function pretty(line) {
  const source = looseText(line.subarray(0, 20_000));
  try {
    return JSON.stringify(JSON.parse(source), null, 1);
  } catch {
    return source || say("page.unreadable");
  }
}

/** @param {0 | 1 | 2} status @param {Finding[]} findings */
function verdict(status, findings) {
  const failed = findings.filter((finding) => finding.result === "fail");
  const why = say(`verdict.${status}.why`, { n: failed.length, of: findings.length });
  const first = failed.length
    ? [element("p", {}, [element("a", { href: `#check-${failed[0].check}` }, [say("page.first")])])]
    : [];
  find("#verdict").className = `status-${status}`;
  find("#verdict").replaceChildren(
    element("h2", {}, [say(`verdict.${status}`)]), element("p", {}, [why]), ...first,
    element("p", { class: "quiet" }, [say("left_out"), " ", say("verdict.never")]),
  );
}

/** @param {string} sentence */
function refuse(sentence) {
  find("#result").hidden = false;
  find("#checks").replaceChildren();
  find("#progress").value = 1;
  find("#verdict").className = "status-3";
  find("#verdict").replaceChildren(element("h2", {}, [say("page.refused")]), element("p", {}, [sentence]));
}

/** Fetch the evidence of a game of this server, as the player of this browser if there is one. @param {string} given */
async function fetchGame(given) {
  const game = UUID.exec(given)?.[0].toLowerCase();
  if (!game) return refuse(say("page.no_id"));
  let token;
  try {
    token = JSON.parse(localStorage.getItem("shithead.player") ?? "null")?.token;
  } catch {
    // no player is stored
  }
  let answer;
  try {
    answer = await fetch(`/v1/games/${game}/evidence`, { credentials: "omit", headers: token ? { Authorization: `Bearer ${token}` } : {} });
  } catch {
    return refuse(say("page.no_server"));
  }
  if (!answer.ok) return refuse(say(answer.status === 404 ? "page.no_game" : "page.no_evidence", { status: answer.status }));
  await check(await bytesOf(await answer.blob()), `${game}.shx`);
}

/** The file that was given last: new receipts or keys check it again. @type {(() => void) | null} */
let again = null;

/** @param {Blob & {name?: string}} file */
function take(file) {
  again = () => {
    find("#progress").value = 0;
    void bytesOf(file).then((data) => check(data, file.name ?? ""));
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
  find("#by-id").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    again = () => void fetchGame(find("#game").value);
    again();
  });
  find("#outside").addEventListener("change", () => again?.());
}

async function start() {
  for (const named of document.querySelectorAll("[data-s]")) named.textContent = say(named.getAttribute("data-s") ?? "");
  find("#left-out").textContent = LEFT_OUT.map((check) => say(`check.${check}`)).join(" · ");
  listen();
  find("#app").hidden = false;
  const game = new URLSearchParams(location.search).get("game");
  if (game) {
    find("#game").value = game;
    find("#by-id").requestSubmit();
  }
  if (!("serviceWorker" in navigator)) return;
  await navigator.serviceWorker.register("/verify/worker.js", { scope: "/verify" });
  await navigator.serviceWorker.ready;
  find("#offline").textContent = say("page.offline");
}

await start();
