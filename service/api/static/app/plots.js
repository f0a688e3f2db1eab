/** SVG plots of values with the range that chance explains, and tables of their numbers. */

import { h, svg } from "./dom.js";
import { language } from "./i18n.js";

const ROW = 64;
const LEFT = 2;
const MARK = 44; // pixels that a number on an axis needs
/** The width that the page has for a plot; the text is never scaled down. */
const width = () => Math.min(640, document.documentElement.clientWidth - 40);
/** @param {number} x @param {number} y @param {string} words @param {Record<string, any>} [more] */
const text = (x, y, words, more = {}) => svg("text", { x, y, ...more }, [words]);

/**
 * @typedef {Object} Row
 * @property {string} label
 * @property {number} low the lower end of the range that chance explains
 * @property {number} high its upper end
 * @property {number} value
 * @property {string} note the value in words, below the line
 */

/**
 * Return a plot: for each row the range as a band and the value as a dot, each row with its own scale.
 *
 * The bands of all rows are aligned, so that a dot outside its band is conspicuous. A value far
 * outside is drawn at the edge; the note has its number.
 *
 * @param {Row[]} rows
 * @param {string} words the plot in words, for readers who cannot see it
 */
export function ranges(rows, words) {
  const WIDTH = width();
  const [from, to] = [WIDTH * 0.3, WIDTH * 0.7];
  return svg("svg", { class: "plot", role: "img", "aria-label": words, viewBox: `0 0 ${WIDTH} ${rows.length * ROW}` },
    rows.flatMap(({ label, low, high, value, note }, at) => {
      const y = at * ROW;
      const share = (value - low) / (high - low || 1);
      const x = Math.min(WIDTH - 10, Math.max(10, from + share * (to - from)));
      const out = share < 0 || share > 1;
      return [
        text(LEFT, y + 14, label),
        text(LEFT, y + 54, note, { class: "faint" }),
        svg("path", { class: "line", d: `M${LEFT} ${y + 28}H${WIDTH - LEFT}` }),
        svg("rect", { class: "band", x: from, y: y + 20, width: to - from, height: 16, rx: 4 }),
        svg(out ? "rect" : "circle", out
          ? { class: "dot out", x: x - 6, y: y + 22, width: 12, height: 12 }
          : { class: "dot", cx: x, cy: y + 28, r: 6 }),
      ];
    }),
  );
}

/**
 * Return a plot of one positive value on a logarithmic scale, with the limit that it is compared to.
 *
 * @param {number} value
 * @param {number} limit
 * @param {string} words the plot in words, for readers who cannot see it
 */
export function logScale(value, limit, words) {
  const WIDTH = width();
  const [low, high] = [-3, Math.ceil(Math.log10(limit)) + 1];
  const sparse = (WIDTH - 60) / (high - low) < MARK;
  const place = (/** @type {number} */ number) => {
    const power = Math.min(high, Math.max(low, Math.log10(Math.max(number, 1e-9))));
    return 20 + ((power - low) / (high - low)) * (WIDTH - 60);
  };
  const marks = Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step));
  return svg("svg", { class: "plot", role: "img", "aria-label": words, viewBox: `0 0 ${WIDTH} 64` }, [
    ...marks.flatMap((mark, step) => [
      svg("path", { class: "line", d: `M${place(mark)} 10V38` }),
      sparse && step % 2 ? null : text(place(mark), 58, mark.toLocaleString(language), { "text-anchor": "middle", class: "faint" }),
    ]),
    svg("path", { class: "line", d: `M20 24H${WIDTH - 40}` }),
    svg("path", { class: "limit", d: `M${place(limit)} 4V44` }),
    svg("circle", { class: value >= limit ? "dot out" : "dot", cx: place(value), cy: 24, r: 7 }),
  ]);
}

/**
 * Return the numbers of a plot as a table that opens on request.
 *
 * @param {string} title
 * @param {string[]} head
 * @param {(string | number | HTMLElement)[][]} rows
 * @param {string} [about] what a column means
 */
export const numbers = (title, head, rows, about) =>
  h("details", null, [
    h("summary", null, [title]),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, [
      h("table", null, [
        h("thead", null, [h("tr", null, head.map((one) => h("th", { scope: "col" }, [one])))]),
        h("tbody", null, rows.map((row) => h("tr", null, row.map((one) => h("td", null, [one]))))),
      ]),
    ]),
    about ? h("p", { class: "quiet" }, [about]) : null,
  ]);
