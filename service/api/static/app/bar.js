/** The bar of the pages without a script of their own: it shows a player that a turn waits at a table. */

import { read } from "./storage.js";

if (read("shithead.player")) {
  await import("./elsewhere.js");
  const { showTexts } = await import("./i18n.js");
  await showTexts();
}
