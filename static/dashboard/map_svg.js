// Writes what the map shows as an SVG file: every point in view, numbers and captions as text, for papers and slides.

import { shadeIndex, shapeOf } from "./colors.js";
import { drawCaptions, drawNumbers, pointRadius } from "./map_paint.js";
import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";

/** @typedef {import("./map.js").ClusterMap} ClusterMap */
/** @typedef {{ text: string, column: number, row: number, size: string, weight: string }} Label */

/**
 * Return the map as it is on the page, in the page's pixels.
 * @param {ClusterMap} map
 */
export function toSvg(map) {
  const { width, height, colors } = map;
  const labels = labelsOf(map).map(({ text, column, row, size, weight }) =>
    `<text x="${short(column)}" y="${short(row)}" font-size="${size}" font-weight="${weight}">${escaped(text)}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<rect width="100%" height="100%" fill="${hex(colors.background)}"/>`,
    ...pathsOf(map),
    `<g font-family="system-ui, sans-serif" text-anchor="middle" dominant-baseline="central" fill="${colors.ink.trim()}"`,
    ` stroke="${colors.halo.trim()}" stroke-width="4" stroke-linejoin="round" paint-order="stroke">`,
    ...labels,
    "</g>",
    "</svg>",
  ].join("\n");
}

/**
 * Return a path for the points of each colour and shape; those that fade behind others come first.
 * @param {ClusterMap} map
 */
function pathsOf(map) {
  const { points, tint, shapes, colors, width, height, view } = map;
  const place = map.place();
  const radius = pointRadius(points.length / STRIDE, view.zoom);
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (let i = 0; i < points.length; i += STRIDE) {
    const cluster = points[i + CLUSTER];
    const column = place.x + points[i] * place.scale;
    const row = place.y - points[i + 1] * place.scale;
    const isOutside = column < -radius || row < -radius || column > width + radius || row > height + radius;
    if (cluster < 1 || isOutside) continue; // below 1 it is set aside
    const isFaded = !map.isInFront(i / STRIDE);
    const color = isFaded ? colors.faded : colors.table[tint ? tint[i / STRIDE] : shadeIndex(cluster, points[i + CONFIDENCE])];
    const shape = shapes ? shapes[i / STRIDE] : shapeOf(cluster);
    const group = `${isFaded ? 0 : 1} ${shape} ${hex(color)}`;
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group)?.push(outline(shape, column, row, radius));
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, outlines]) => {
    const [, shape, color] = group.split(" ");
    return `<path ${styleOf(Number(shape), color, radius)} d="${outlines.join("")}"/>`;
  });
}

/**
 * Return how a point is drawn: discs and squares are dots of a broad line, rings and crosses are lines.
 * @param {number} shape
 * @param {number} column
 * @param {number} row
 * @param {number} radius
 */
function outline(shape, column, row, radius) {
  const [x, y, r] = [short(column), short(row), short(radius)];
  if (shape === 1) return `M${short(column - radius)} ${y}a${r} ${r} 0 1 0 ${short(2 * radius)} 0a${r} ${r} 0 1 0 ${short(-2 * radius)} 0`;
  if (shape === 2) return `M${short(column - radius)} ${y}h${short(2 * radius)}M${x} ${short(row - radius)}v${short(2 * radius)}`;
  return `M${x} ${y}h0`;
}

/**
 * @param {number} shape
 * @param {string} color
 * @param {number} radius
 */
function styleOf(shape, color, radius) {
  if (shape === 1) return `fill="none" stroke="${color}" stroke-width="1.5"`;
  if (shape === 2) return `fill="none" stroke="${color}" stroke-width="${short(0.8 * radius)}"`;
  return `stroke="${color}" stroke-width="${short(2 * radius)}" stroke-linecap="${shape === 3 ? "square" : "round"}"`;
}

/**
 * Return what is written on the map, by the functions that write it there.
 * @param {ClusterMap} map
 * @returns {Label[]}
 */
function labelsOf(map) {
  /** @type {Label[]} */
  const labels = [];
  const recorder = {
    font: "",
    canvas: { width: map.width, height: map.height },
    /** @param {string} text */
    measureText(text) {
      map.context.font = this.font;
      return map.context.measureText(text);
    },
    strokeText() {},
    /**
     * @param {string} text
     * @param {number} column
     * @param {number} row
     */
    fillText(text, column, row) {
      const size = /[\d.]+(?=px)/.exec(this.font)?.[0] ?? "12";
      labels.push({ text, column, row, size, weight: /^\d{3} /.test(this.font) ? this.font.slice(0, 3) : "400" });
    },
  };
  const context = /** @type {CanvasRenderingContext2D} */ (/** @type {unknown} */ (recorder));
  const place = map.place();
  drawNumbers(context, map.centers, place, map.colors, 1);
  drawCaptions(context, map.centers, map.captionOf, place, 1);
  return labels;
}

/**
 * Return a colour of ImageData, alpha, blue, green, red, as SVG writes it.
 * @param {number} color
 */
function hex(color) {
  const channels = [color & 255, (color >>> 8) & 255, (color >>> 16) & 255];
  return `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {number} value */
function short(value) {
  return String(Math.round(100 * value) / 100);
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign] ?? sign);
}
