/** Pages whose content stays as the server wrote it: the bar, with turns at tables, and the rules in short, in the reader's language. */

import { showTexts } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { showAccount } from "./player.js";

await showTexts();
offerMenu();
showAccount();
