/**
 * The service worker of /verify, which makes the page work without the server.
 *
 * It stores the page with its scripts and styles, and handles no other page.
 */

const worker = /** @type {any} */ (self);
const STORE = "shithead.verify";
const PAGE = "/verify";

/** Store the server's current version of the page, with all files that it links. */
async function store() {
  const page = await fetch(PAGE, { cache: "no-cache", credentials: "omit" });
  if (!page.ok) throw new Error(`status ${page.status}`);
  const links = [...(await page.clone().text()).matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)];
  const paths = new Set(links.map(([, path]) => path));
  const cache = await caches.open(STORE);
  await cache.addAll([...paths]);
  await cache.put(PAGE, page);
  const build = [...paths][0].split("/", 3).join("/"); // the page's script stores the texts of its language
  for (const { url } of await cache.keys()) {
    const { pathname } = new URL(url);
    if (pathname !== PAGE && !pathname.startsWith(build)) await cache.delete(url);
  }
}

/** Return the page from the server, and store it if it is new; if the server fails, return the stored page. */
async function newest(/** @type {any} */ event) {
  const stored = await caches.match(PAGE);
  try {
    const answer = await fetch(event.request);
    if (!answer.ok && stored) return stored;
    if (answer.ok && answer.headers.get("ETag") !== stored?.headers.get("ETag")) event.waitUntil(store().catch(() => {}));
    return answer;
  } catch (error) {
    if (stored) return stored;
    throw error;
  }
}

worker.addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(store().then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate" && url.pathname === PAGE) event.respondWith(newest(event));
  else if (url.pathname.startsWith("/static/")) {
    event.respondWith(caches.match(request).then((stored) => stored ?? fetch(request)));
  }
});
