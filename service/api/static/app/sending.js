/** Ways to hand on an address: a field that copies it, the share sheet of the system, and a code for a camera. */

import { h, loaded } from "./dom.js";
import { t } from "./i18n.js";

/** Copy a text from its field; without a secure context only the old command can. @param {HTMLInputElement | HTMLTextAreaElement} field @returns {Promise<boolean>} whether it was copied */
export async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.select();
    return document.execCommand("copy");
  }
}

/**
 * A read-only field with its button to copy.
 *
 * @param {string} label @param {HTMLInputElement | HTMLTextAreaElement} field @param {HTMLElement} said where the page says that it was copied
 */
export function copyable(label, field, said) {
  field.readOnly = true;
  const copy = async () => (said.textContent = t((await copied(field)) ? "wait.copied" : "share.by_hand"));
  return h("div", { class: "copyable" }, [h("label", { class: "field" }, [h("span", null, [label]), field]), h("button", { onclick: copy }, [t("share.copy")])]);
}

/** A button that opens the share sheet of the system; null without one. @param {string} title @param {string} url */
export const sendButton = (title, url) =>
  typeof navigator.share === "function" ? h("button", { class: "main", onclick: () => navigator.share({ title, url }).catch(() => {}) }, [t("share.send")]) : null;

/**
 * All ways to hand on an address, under a heading; without buttons for what the browser cannot do.
 *
 * @param {string} heading @param {{title: string, url: string}} what `title` goes with it to the system
 */
export function waysToSend(heading, { title, url }) {
  const said = h("p", { class: "quiet", role: "status" });
  const address = h("input", { value: url, onfocus: () => address.select() });
  return h("section", { class: "sending" }, [
    h("div", null, [
      h("h2", null, [heading]),
      h("p", { class: "buttons" }, [sendButton(title, url)]),
      copyable(t("wait.address"), address, said),
      said,
    ]),
    codeFor(url),
  ]);
}

/** The QR code of an address, drawn once its module has arrived; its place is kept. @param {string} url */
export function codeFor(url) {
  const place = h("div", { class: "qr" });
  const draw = async () => {
    const { qrCode } = await loaded(import("./qr.js"));
    place.replaceWith(qrCode(url, t("wait.qr.label")));
  };
  draw();
  return h("figure", { class: "code-beside" }, [place, h("figcaption", { class: "quiet" }, [t("wait.qr")])]);
}
