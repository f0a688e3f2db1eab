/**
 * The texts of the pages, in the reader's language.
 *
 * `strings/en.json` (of `service/words/`), `sv.json` and `ja.json` have the texts that all pages share; a folder beside them has
 * the texts of some pages (`strings/verify/en.json`). The server writes the English texts into its pages;
 * the browser loads only the files of the reader's language. Texts of the API stay English.
 */

import { find, h } from "./dom.js";
import { read, write } from "./storage.js";

/** Languages by code, each with its name in that language. */
const LANGUAGES = { en: "English", sv: "Svenska", ja: "日本語" };
const CHOICE = "shithead.language";

/** @type {Record<string, string>} */
let strings = {};

/** The language of the page: a key of LANGUAGES. */
export let language =
  [read(CHOICE), ...navigator.languages]
    .map((one) => (one ?? "").slice(0, 2))
    .find((one) => one in LANGUAGES) ?? "en";

/** @param {string} code a language @param {string} [part] a folder of texts; without one, the texts of all pages */
async function load(code, part = "") {
  const answer = await fetch(address(code, part));
  if (answer.status === 404) dispatchEvent(new Event("file-missing")); // a server of another build: see guard.js
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

/** @param {string} code @param {string} part */
const address = (code, part) => new URL(`./strings/${part}${code}.json`, import.meta.url).href;

const general = load(language); // begins while the other scripts of the page are loading
general.catch(() => {}); // `start` then loads another language

/** @param {string} code a language @param {string[]} parts folders of strings */
async function loadAll(code, parts) {
  const first = code === language ? general : load(code);
  return Object.assign({}, ...(await Promise.all([first, ...parts.map((part) => load(code, `${part}/`))])));
}

/** @type {Map<string, Promise<void>>} */
const needed = new Map();

/** Load further texts in the reader's language, once; if that fails they stay unknown. @param {string} part a folder of texts */
export function need(part) {
  const found = needed.get(part) ?? load(language, `${part}/`).then((more) => void (strings = { ...more, ...strings }), () => void needed.delete(part));
  needed.set(part, found);
  return found;
}

/**
 * Return a text with its values filled in; a missing value becomes a dash.
 *
 * If a text has two forms, separated by `|`, the first is for a number that is 1, and the second for
 * others; the number is `n`, else `count`, else `found`. Languages without a plural have one form.
 *
 * @param {string} key
 * @param {Record<string, any>} [values]
 */
export function t(key, values = {}) {
  const found = strings[key];
  if (found === undefined) throw new Error(`no text ${key}`);
  const forms = found.split("|");
  const form = forms.length > 1 && (values.n ?? values.count ?? values.found) !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) => isolated(String(values[name] ?? "–")));
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** @param {string} value @returns {string} the value so that a name from right to left does not order the sentence around it */
const isolated = (value) => (RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value);

/** @param {string} text @returns {string} the text with a capital letter at its beginning */
export const begun = (text) => `${text[0].toLocaleUpperCase()}${text.slice(1)}`;

/** @param {number} seat as data count it, from 0 @returns {number} its number for readers, from 1, as in the server's `sentences.py` */
export const seatNumber = (seat) => seat + 1;

/** @param {number} seat as data count it @returns {string} the seat in words within a sentence */
export const seatWords = (seat) => t("seat.number", { n: seatNumber(seat) });

/** @param {string} key @returns {boolean} whether there is a text with this key */
export const has = (key) => key in strings;

/** @param {string[]} words @returns {string} the list in words: "a, b and c" */
export const listed = (words) =>
  new Intl.ListFormat(language === "en" ? "en-GB" : language, { style: "long", type: "conjunction" }).format(words.map(isolated));

/** @param {string[]} words @returns {string} the choice in words: "a, b or c" */
export const either = (words) =>
  new Intl.ListFormat(language === "en" ? "en-GB" : language, { style: "long", type: "disjunction" }).format(words.map(isolated));

/**
 * @param {string} at a time of the API
 * @param {Intl.DateTimeFormatOptions} [style]
 * @returns {string} in the reader's language and time zone, as in the reader's country if the browser names one
 */
export function moment(at, style = { dateStyle: "medium", timeStyle: "short" }) {
  const place = navigator.languages.find((one) => one.slice(0, 2) === language);
  return new Intl.DateTimeFormat(place ?? language, style).format(new Date(at));
}

/**
 * Load the texts of the reader's language, and replace the English texts in the page.
 *
 * @param {string[]} parts folders of strings that this page needs
 * @returns {Promise<string[]>} the addresses of the files with these texts
 */
export async function start(...parts) {
  for (const code of new Set([language, ...Object.keys(LANGUAGES)])) {
    // Without a connection, only languages in the browser's cache can be loaded.
    const found = await loadAll(code, parts).catch(() => null);
    if (!found) continue;
    strings = found;
    language = code;
    break;
  }
  if (!Object.keys(strings).length) {
    dispatchEvent(new Event("file-missing"));
    await new Promise(() => {}); // without texts the page stays as the server sent it
  }
  document.documentElement.lang = language;
  translate(document);
  offerLanguages(parts);
  dispatchEvent(new Event("page-started"));
  return ["", ...parts.map((part) => `${part}/`)].map((part) => address(language, part));
}

/** Load the texts of a page whose content stays in the language in which the server wrote it, but bar, footer and rules in short. */
export async function showTexts() {
  strings = await general;
  for (const part of document.querySelectorAll(".bar, footer, .short")) {
    part.setAttribute("lang", language);
    translate(part);
  }
  offerLanguages([]);
  dispatchEvent(new Event("page-started"));
}

/** Replace the texts of the server by those of the reader's language. @param {ParentNode} part of the page */
function translate(part) {
  for (const element of part.querySelectorAll("[data-t]")) element.textContent = t(element.getAttribute("data-t") ?? "");
  for (const element of part.querySelectorAll("[data-t-label]")) element.setAttribute("aria-label", t(element.getAttribute("data-t-label") ?? ""));
}

/** @param {string[]} parts */
function offerLanguages(parts) {
  if (!document.getElementById("language")) return; // in a frame of another site
  const select = find("#language");
  select.append(...Object.entries(LANGUAGES).map(([code, name]) =>
    h("option", { value: code, lang: code, selected: code === language }, [name]),
  ));
  select.addEventListener("change", async () => {
    try {
      await loadAll(select.value, parts);
    } catch {
      select.value = language;
      const fault = h("p", { class: "notice warning", role: "alert", id: "no-language" }, [t("nav.language.none")]);
      document.getElementById("no-language")?.remove();
      return find("main").prepend(fault);
    }
    write(CHOICE, select.value);
    location.reload();
  });
  select.hidden = false;
}
