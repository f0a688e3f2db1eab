/** The page of a table: the hand being played, its result, and waiting between hands. */

import { start } from "./i18n.js";
import { showing } from "./notices.js";
import { checkPlayer, showAccount } from "./player.js";
import { guardPresses } from "./presses.js";
import { offerSettings } from "./settings.js";
import { render, tick } from "./table_drawing.js";
import { closeMenu } from "./table_menu.js";
import { drawWith, game, report, root, stateShown } from "./table_state.js";
import { advance, catchUp, openGame, openTable } from "./table_transport.js";
import { waitingRoom } from "./waiting_room.js";

/** P picks up the pile and N deals the next hand, unless the focus is in a dialog, a menu or a field. @param {KeyboardEvent} event */
function shortcut(event) {
  const within = event.target instanceof Element && event.target.closest("dialog, details, input, textarea, select");
  const key = { p: "pick_up", n: "next" }[event.key.toLowerCase()];
  if (!key || within || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = root.querySelector(`button[data-key=${key}]:enabled`);
  if (button instanceof HTMLElement) button.click();
}

drawWith(() => (game.view ? render() : waitingRoom()));
guardPresses(stateShown);
addEventListener("pointerdown", closeMenu);
addEventListener("keydown", closeMenu);
addEventListener("keydown", shortcut);
addEventListener("resize", () => game.view && render());
addEventListener("pagehide", () => game.left.abort());
addEventListener("pageshow", (event) => event.persisted && location.reload());
document.addEventListener("visibilitychange", () => document.hidden && game.view && catchUp());
setInterval(tick, 500);
if (root.dataset.game) showing(root.dataset.game);
await start("state");
offerSettings(() => game.view && advance());
await checkPlayer();
showAccount();
try {
  await (root.dataset.game ? openGame(root.dataset.game) : openTable(location.pathname.split("/")[2]));
} catch (problem) {
  report(problem);
}
