/** Pages without a script of their own: a player sees that a turn waits at a table, every reader the rules in short in their language. */

import { read } from "./storage.js";

const isPlayer = Boolean(read("shithead.player"));
if (isPlayer || document.querySelector(".short")) {
  if (isPlayer) await import("./elsewhere.js");
  const { showTexts } = await import("./i18n.js");
  await showTexts();
}
