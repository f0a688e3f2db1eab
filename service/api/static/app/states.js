/**
 * What a page shows in place of its subject: what happened, and what the reader can do next.
 *
 * Used when a hand, table or dispute cannot be shown at all, and where a list has nothing. A problem of a page that
 * shows something already stays a notice on it.
 */

import { identity } from "./api.js";
import { reachable } from "./connection.js";
import { h } from "./dom.js";
import { has, t } from "./i18n.js";
import { isSandboxed } from "./storage.js";
import { setTitle } from "./title.js";

/** @typedef {"hand" | "table" | "dispute" | "page"} Subject */

const suits = () => h("p", { class: "suits", "aria-hidden": "true" }, [h("i", null, ["♠"]), h("b", null, ["♥"]), h("b", null, ["♦"]), h("i", null, ["♣"])]);

const again = () => h("button", { class: "main", onclick: () => location.reload() }, [t("guard.again")]);
/** @param {string} href @param {string} key @param {string} [kind] */
const link = (href, key, kind = "") => h("a", { class: `button ${kind}`, href }, [t(key)]);

/**
 * Return the heading, the explanation and the next steps for a problem.
 *
 * A page that the server did not answer loads itself again when it does.
 *
 * @param {{status: number, message: string, lang?: string | null}} problem
 * @param {Subject} subject
 */
export function problemState({ status, message, lang = null }, subject) {
  if (status === 404) return missing(subject);
  const isOffline = status === 0;
  const isTemporary = isOffline || status === 429 || status >= 500;
  if (isOffline) reachable().then(() => location.reload(), () => {});
  return shown(
    t(isOffline ? "state.offline" : isTemporary ? "state.later" : "state.refused"),
    [
      h("p", null, [t(isOffline ? "state.offline.why" : isTemporary ? "state.later.why" : "state.refused.why")]),
      isOffline ? null : h("p", { class: "quiet", lang }, [message]),
    ],
    [isTemporary ? again() : null, isSandboxed ? null : link("/", "act.lobby", isTemporary ? "" : "main")], // a frame opens no pages
  );
}

/** @param {Subject} subject */
function missing(subject) {
  const hasInvite = location.hash.startsWith("#invite=");
  const why = has(`state.missing.${subject}.why`) ? t(`state.missing.${subject}.why`) : "";
  return shown(
    t(`state.missing.${subject}`),
    [h("p", null, [why]), h("p", null, [t(hasInvite ? "state.missing.invite" : identity() ? "state.missing.player" : "state.missing.stranger")])],
    [link("/", "act.lobby", "main"), subject === "dispute" ? link("/disputes", "state.disputes") : link("/rules", "nav.rules")],
  );
}

/** @param {string} heading @param {any[]} words @param {any[]} actions */
const shown = (heading, words, actions) => {
  setTitle(`Shithead: ${heading}`);
  return h("section", { class: "state", role: "alert" }, [
    suits(),
    h(document.querySelector("main h1") ? "h2" : "h1", null, [heading]),
    ...words,
    h("p", { class: "buttons" }, actions),
  ]);
};

/** What stands where a list has nothing: a sentence, and what the reader can do. @param {any[]} words @param {any[]} actions */
export const nothing = (words, ...actions) =>
  h("div", { class: "empty" }, [suits(), h("p", null, words), actions.length ? h("p", { class: "buttons" }, actions) : null]);

/** What a page about the reader's own player shows to a reader without one. @param {() => void} recover */
export const noPlayer = (recover) => nothing([t("account.new")], link("/", "act.lobby", "main"), h("button", { onclick: recover }, [t("account.recover")]));

/** What stands where no hand was played or kept yet; the next step is to play one. @param {string} key */
export const noHand = (key) => nothing([t(key)], link("/", "act.lobby", "main"));
