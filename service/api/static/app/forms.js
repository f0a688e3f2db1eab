/** Parts of the court's forms: buttons, fields, sections, and a request with the problem that the server reports. */

import { Problem, isUnsure } from "./api.js";
import { answered } from "./connection.js";
import { find, h, replace } from "./dom.js";
import { language, t } from "./i18n.js";
import { worded } from "./worded.js";

/**
 * Run a request, and show the problem if the server refuses it. After no answer the problem is replaced when the server
 * answers again.
 *
 * @param {() => Promise<unknown>} work
 * @param {() => Promise<boolean>} [compare] what to fetch then; returns whether the request had its effect
 * @returns {Promise<boolean>} whether the server did not refuse it
 */
export async function attempt(work, compare) {
  replace(find("#fault"));
  try {
    await work();
    return true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const more = (problem.body.errors ?? []).slice(1).map((error) => `${error.at}: ${worded(error) ?? error.message}`); // the message has the first
    const other = problem.body.id ? h("a", { href: `/disputes/${problem.body.id}` }, [t("court.other")]) : null;
    find("#fault").lang = problem.lang ?? language;
    replace(find("#fault"), [problem.message, ...more].join(" "), " ", other);
    find("#fault").scrollIntoView({ block: "nearest" });
    if (isUnsure(problem) && compare) settle(compare, find("#fault").textContent);
    return false;
  }
}

/** @param {() => Promise<boolean>} compare @param {string | null} shown the text that is replaced, unless another one stands there then */
async function settle(compare, shown) {
  const isDone = await answered(compare);
  if (find("#fault").textContent !== shown) return;
  find("#fault").lang = language;
  replace(find("#fault"), isDone ? "" : t("court.undone"));
}

/** Show at the field that a text is missing, and focus it. @param {HTMLTextAreaElement | HTMLInputElement} text @param {string} [key] */
export function missing(text, key = "court.statement.missing") {
  text.setCustomValidity(t(key));
  text.reportValidity();
  text.addEventListener("input", () => text.setCustomValidity(""), { once: true });
}

/** A section, with an id by which the page links it. @param {string} key @param {any[]} content */
export const section = (key, ...content) => h("section", { id: key.replace(".", "-") }, [h("h2", null, [t(key)]), content]);
export const quiet = (/** @type {string} */ text) => h("p", { class: "quiet" }, [text]);
/**
 * Return `act` without concurrent calls: a second press while the first is worked on does nothing.
 *
 * @template {any[]} Values @param {(...values: Values) => unknown} act @returns {(...values: Values) => Promise<void>}
 */
export function single(act) {
  let isBusy = false;
  return async (...values) => {
    if (isBusy) return;
    isBusy = true;
    try {
      await act(...values);
    } finally {
      isBusy = false;
    }
  };
}

/** A button for one action at a time. @param {string} key @param {() => unknown} onclick @param {Record<string, any>} [more] */
export const button = (key, onclick, more = {}) => h("button", { onclick: single(onclick), "data-key": key, ...more }, [t(key)]);
/** @param {string} key @param {HTMLElement} control */
export const field = (key, control) => h("label", { class: "field" }, [h("span", null, [t(key)]), control]);
