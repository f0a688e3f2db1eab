/**
 * Functions for the document: create elements, replace them without losing the focus, announce texts.
 *
 * Texts become text nodes; HTML is never parsed.
 */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} element
 * @param {Record<string, any> | null | undefined} attributes
 * @param {Child | Child[] | any[]} children
 */
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, String(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of [children].flat(9)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/**
 * Return a new HTML element; a button submits no form unless its `type` is set. Attributes: `on…`
 * are listeners, `--…` CSS variables; null, undefined and false are left out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {Child | Child[] | any[]} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
export const h = (tag, attributes, children = []) =>
  filled(document.createElement(tag), tag === "button" ? { type: "button", ...attributes } : attributes, children);

/**
 * Return a new SVG element.
 *
 * @param {string} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {Child | Child[]} [children]
 * @returns {SVGElement}
 */
export const svg = (tag, attributes, children = []) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/**
 * Return the first element that matches; throws if none does.
 *
 * @template {string} const Selector
 * @param {Selector} selector
 * @returns {Selector extends keyof Elements ? Elements[Selector] : HTMLElement}
 */
export function find(selector) {
  const found = /** @type {any} */ (document.querySelector(selector));
  if (!found) throw new Error(`no element ${selector}`);
  return found;
}

/**
 * Replace the content of an element; the focus returns to the element with the same `data-key`.
 *
 * @param {Element} parent
 * @param {...any} children
 */
export function replace(parent, ...children) {
  const active = document.activeElement;
  const key = active && parent.contains(active) ? active.getAttribute("data-key") : null;
  const present = children.flat(9).filter((child) => child !== null && child !== undefined && child !== false);
  parent.replaceChildren(...present);
  if (key === null) return;
  const successor = parent.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (successor instanceof HTMLElement) successor.focus({ preventScroll: true });
}

/**
 * Announce a text to screen readers, after the text that they are reading.
 *
 * @param {string} text
 * @param {{urgent?: boolean}} [options] urgent: interrupt that text
 */
export function announce(text, options = {}) {
  if (!text) return;
  const region = document.getElementById(options.urgent ? "alert-region" : "live-region");
  if (!region) return;
  region.append(h("p", null, [text]));
  while (region.childElementCount > 8) region.firstElementChild?.remove();
}

/**
 * Show a dialog until it is closed; then it is removed, and the focus returns to where it was.
 *
 * The page may be drawn anew meanwhile: then the focus goes to the element with the same `data-key`, or to the button
 * of the menu that had it. Keys that are pressed in the dialog do nothing on the page behind it.
 *
 * @param {HTMLDialogElement} dialog
 * @param {() => void} [onclose]
 */
export function showDialog(dialog, onclose = () => {}) {
  const opener = document.activeElement;
  const keys = [opener, opener?.closest("details")?.querySelector("summary")].map((one) => one?.getAttribute("data-key"));
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  dialog.addEventListener("close", () => {
    dialog.remove();
    onclose();
    for (const place of [opener, ...keys.map((key) => key && document.querySelector(`[data-key="${CSS.escape(key)}"]`))]) {
      if (![document.body, null].includes(/** @type {HTMLElement | null} */ (document.activeElement))) return;
      if (place instanceof HTMLElement && place !== document.body) place.focus({ preventScroll: true });
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Let the reader save a file. @param {Blob} content @param {string} name */
export function download(content, name) {
  const link = h("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * Return a module that a page imports while it runs; if it cannot be loaded, `guard.js` shows a sentence.
 *
 * @template Module
 * @param {Promise<Module>} importing
 * @returns {Promise<Module>} without an end after a failure
 */
export const loaded = (importing) =>
  importing.catch(() => {
    dispatchEvent(new Event("file-missing"));
    return new Promise(() => {});
  });

/** @returns {boolean} whether the reader prefers reduced motion */
export const reducesMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
