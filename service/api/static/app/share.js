/** The dialog that shares a moment of a hand: its address, which is copied at once, a picture, and a frame for other pages. */

import { h, showDialog } from "./dom.js";
import { language, t } from "./i18n.js";
import { copied, copyable, sendButton } from "./sending.js";

/**
 * Copy the address of a moment, and show it with the other ways to share it.
 *
 * @param {Object} moment
 * @param {string} moment.game its id
 * @param {number} moment.version
 * @param {string} moment.as its viewer
 * @param {string} moment.title
 * @param {boolean} moment.isPublic whether everybody can see the hand
 * @param {string} [moment.line] of moves that were not made; picture and frame show the hand only
 */
export async function shareMoment({ game, version, as, title, isPublic, line = "" }) {
  const query = `event=${version - 1}&as=${as}${line && `&line=${encodeURIComponent(line)}`}`;
  // Without the fragment: it may have the invite of a private table.
  const address = h("input", { value: `${location.origin}/replay/${game}?${query}`, onfocus: () => address.select() });
  const picture = `/v1/games/${game}/picture.svg?at=${version}&as=${as}${language === "en" ? "" : `&language=${language}`}`;
  const frame = h("textarea", { rows: 3, spellcheck: "false" }, [
    `<iframe src="${location.origin}/embed/${game}?${query}" title="${title}" width="720" height="540" loading="lazy"></iframe>\n<a href="${address.value}">${title}</a>`,
  ]);
  const said = h("p", { role: "status" });
  const dialog = h("dialog", { class: "panel share", "aria-labelledby": "share-title" }, [
    h("h2", { id: "share-title" }, [t("share")]),
    said,
    copyable(t("share.address"), address, said),
    ...(line ? [h("p", { class: "notice" }, [t("share.line")])] : isPublic
      ? [
          h("a", { href: picture, target: "_blank", rel: "noopener" }, [h("img", { src: picture, width: 1200, height: 630, alt: t("share.picture") })]),
          h("p", { class: "quiet" }, [t("share.picture.about")]),
          h("details", null, [h("summary", null, [t("share.frame")]), copyable(t("share.frame.html"), frame, said)]),
        ]
      : [h("p", { class: "notice" }, [t("share.private")])]),
    h("p", { class: "buttons" }, [
      sendButton(title, address.value),
      h("button", { onclick: () => dialog.close() }, [t("close")]),
    ]),
  ]);
  showDialog(dialog);
  said.textContent = t((await copied(address)) ? "share.copied" : "share.by_hand");
}
