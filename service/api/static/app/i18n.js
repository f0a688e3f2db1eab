/**
 * The words of the pages, in the reader's language.
 *
 * `strings/en.js`, `sv.js` and `ja.js` hold all of them: a module whose value is plain JSON, so
 * that the server can write the English ones into its pages. Texts of the API stay English.
 */

import { find } from "./dom.js";
import english from "./strings/en.js";

/** Languages with their own names for themselves. */
export const LANGUAGES = { en: "English", sv: "Svenska", ja: "日本語" };
const CHOICE = "shithead.language";

/** @type {Record<string, string>} */
let strings = english;

/** The language of the page: a key of LANGUAGES. */
export let language = "en";

function chosen() {
  const wanted = [localStorage.getItem(CHOICE), ...navigator.languages];
  const known = wanted.map((one) => (one ?? "").slice(0, 2)).find((one) => one in LANGUAGES);
  return known ?? "en";
}

/**
 * Return a text with its values filled in.
 *
 * A value `n` chooses between forms separated by `|`: for one, and for other numbers. Languages
 * without that distinction have one form.
 *
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const found = strings[key] ?? english[key];
  if (found === undefined) throw new Error(`no text ${key}`);
  const forms = found.split("|");
  const form = forms.length > 1 && values.n !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** @param {string} key @returns {boolean} whether there is a text with this key */
export const has = (key) => key in english;

/** @param {string[]} words @returns {string} the words as a list: "a, b and c" */
export const listed = (words) =>
  new Intl.ListFormat(language, { style: "long", type: "conjunction" }).format(words);

/** @param {string} at a time of the API @returns {string} that time for people here */
export const moment = (at) =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));

/** Load the reader's language, and put it into what the server has written in English. */
export async function start() {
  language = chosen();
  if (language !== "en") strings = (await import(`./strings/${language}.js`)).default;
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-t]")) {
    element.textContent = t(element.getAttribute("data-t") ?? "");
  }
  for (const element of document.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", t(element.getAttribute("data-t-label") ?? ""));
  }
  offerLanguages();
}

function offerLanguages() {
  const select = find("#language");
  for (const [code, name] of Object.entries(LANGUAGES)) {
    const option = new Option(name, code, code === language, code === language);
    option.lang = code;
    select.append(option);
  }
  select.addEventListener("change", () => {
    localStorage.setItem(CHOICE, select.value);
    location.reload();
  });
  select.hidden = false;
}
