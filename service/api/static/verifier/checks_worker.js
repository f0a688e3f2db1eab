/** A worker that makes all checks of one file, so that the page stays usable. */

import { verify } from "./verify.js";

const worker = /** @type {any} */ (self);

worker.addEventListener("message", async (/** @type {MessageEvent} */ { data: { bundle, outside } }) => {
  const { log, findings } = await verify(bundle, outside, {
    progress: (progress) => worker.postMessage({ progress }),
    found: (finding) => worker.postMessage({ finding }),
  });
  const { lines, events } = log;
  worker.postMessage({ result: { log: { lines, events }, findings } });
});
