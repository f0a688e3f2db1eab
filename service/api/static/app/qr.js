/** QR codes: an address as a picture, for the camera of another device. The address leaves the page by no request. */

import { generate } from "../vendor/lean-qr.js";
import { svg } from "./dom.js";

const QUIET = 4; // modules of white around the code, as its standard asks

/** Return the code of a text, dark on white whatever the colours of the page. @param {string} text @param {string} label its description */
export function qrCode(text, label) {
  const code = /** @type {{size: number, get: (x: number, y: number) => boolean}} */ (/** @type {any} */ (generate)(text));
  const size = code.size + 2 * QUIET;
  let path = "";
  for (let y = 0; y < code.size; y += 1) for (let x = 0; x < code.size; x += 1) if (code.get(x, y)) path += `M${x + QUIET} ${y + QUIET}h1v1h-1z`;
  return svg("svg", { class: "qr", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label }, [
    svg("rect", { width: size, height: size, fill: "#fff" }),
    svg("path", { d: path, fill: "#000", "shape-rendering": "crispEdges" }),
  ]);
}
