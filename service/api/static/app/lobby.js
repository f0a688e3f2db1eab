/** The lobby. */

import { start } from "./i18n.js";
import { checkPlayer, showAccount } from "./player.js";

await start();
await checkPlayer();
showAccount();
