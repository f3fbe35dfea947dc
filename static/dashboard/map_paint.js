// Paints points into the pixels of an ImageData, which is much faster than one canvas call for each point: half a
// million points are painted within a frame. Marks over them are ordinary canvas calls.

import { shadeIndex, shapeOf } from "./colors.js";
import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";

/** @typedef {{ x: number, y: number, scale: number }} Placement column = x + scale * the map's x, row = y - scale * its y */
/** @typedef {{ dx: number, dy: number, covered: number }[]} Stamp a shape's pixels as offsets from its middle */
/** @typedef {{ pixels: Uint32Array, width: number, height: number }} Target */
/** @typedef {import("./colors.js").MapColors} MapColors */

const SMOOTH_LIMIT = 60000; // points; above this only whole pixels are painted

/**
 * Return how much of a pixel a shape covers, from 0 to 1.
 * @param {number} shape
 * @param {number} dx
 * @param {number} dy
 * @param {number} radius
 */
function coverage(shape, dx, dy, radius) {
  const distance = Math.hypot(dx, dy);
  const disc = clamp(radius + 0.5 - distance);
  if (shape === 1) return Math.max(0, disc - clamp(radius - 1 - distance));
  if (shape === 2) return Math.min(disc, clamp(radius / 2.5 + 0.5 - Math.min(Math.abs(dx), Math.abs(dy))));
  if (shape === 3) return clamp(radius + 0.5 - Math.max(Math.abs(dx), Math.abs(dy)));
  return disc;
}

/** @param {number} value */
function clamp(value) {
  return Math.min(1, Math.max(0, value));
}

/**
 * @param {number} shape
 * @param {number} radius
 * @param {boolean} isSmooth
 */
function stamp(shape, radius, isSmooth) {
  const reach = Math.ceil(radius + 0.5);
  /** @type {Stamp} */
  const pixels = [];
  for (let dy = -reach; dy <= reach; dy += 1) {
    for (let dx = -reach; dx <= reach; dx += 1) {
      const covered = coverage(shape, dx, dy, radius);
      if (isSmooth ? covered > 0.05 : covered >= 0.5) pixels.push({ dx, dy, covered: isSmooth ? covered : 1 });
    }
  }
  return pixels;
}

/**
 * @param {number} under
 * @param {number} over
 * @param {number} share
 */
function blend(under, over, share) {
  let mixed = 0xff;
  for (const shift of [16, 8, 0]) {
    const low = (under >>> shift) & 255;
    mixed = (mixed << 8) | Math.round(low + (((over >>> shift) & 255) - low) * share);
  }
  return mixed >>> 0;
}

/**
 * @param {number} n
 * @param {number} zoom
 */
export function pointRadius(n, zoom) {
  const base = n <= 1500 ? 4 : n <= 8000 ? 3 : n <= SMOOTH_LIMIT ? 2 : 1.25;
  return base * Math.min(1.6, Math.max(1, zoom) ** 0.25);
}

/**
 * Paint all points; a chosen cluster, and what passes the filter, is painted over the others, which fade.
 * @param {ImageData} image
 * @param {Float32Array} points
 * @param {Placement} place
 * @param {MapColors} colors
 * @param {number} radius
 * @param {number} chosen a cluster, or 0 for all
 * @param {Uint8Array | null} passing 1 for the items that are painted over the others; null: all
 * @param {Uint16Array | null} tint each item's place in the table of colours; null: by cluster and confidence
 * @param {Uint8Array | null} shapes each item's shape; null: that of its cluster
 * @param {number} every paint only each so-many-th point
 */
export function paintPoints(image, points, place, colors, radius, chosen, passing = null, tint = null, shapes = null, every = 1) {
  const target = { pixels: new Uint32Array(image.data.buffer), width: image.width, height: image.height };
  const isSmooth = points.length / STRIDE <= SMOOTH_LIMIT;
  const stamps = [0, 1, 2, 3].map((shape) => stamp(shape, radius, isSmooth));
  // Of many points each is whole pixels at fixed distances from its middle, which saves most of the time.
  const offsets = stamps.map((pixels) => Int32Array.from(pixels, ({ dx, dy }) => dy * target.width + dx));
  target.pixels.fill(colors.background);
  const margin = Math.ceil(radius) + 1;
  const fades = chosen > 0 || passing !== null;
  const paint = (/** @type {boolean} */ isInFront) => {
    for (let i = 0; i < points.length; i += every * STRIDE) {
      const cluster = points[i + CLUSTER];
      if (cluster < 1) continue; // set aside
      if (fades && isInFront !== ((!chosen || cluster === chosen) && (!passing || passing[i / STRIDE] === 1))) continue;
      const column = Math.round(place.x + points[i] * place.scale);
      const row = Math.round(place.y - points[i + 1] * place.scale);
      if (column < -margin || row < -margin || column >= target.width + margin || row >= target.height + margin) continue;
      const shade = tint ? tint[i / STRIDE] : shadeIndex(cluster, points[i + CONFIDENCE]);
      const shape = shapes ? shapes[i / STRIDE] : shapeOf(cluster);
      const color = isInFront ? colors.table[shade] : colors.faded;
      const isInside = column >= margin && row >= margin && column < target.width - margin && row < target.height - margin;
      if (isSmooth || !isInside) press(target, stamps[shape], column, row, color);
      else fill(target.pixels, offsets[shape], row * target.width + column, color);
    }
  };
  if (fades) paint(false);
  paint(true);
}

/**
 * @param {Uint32Array} pixels
 * @param {Int32Array} offsets
 * @param {number} middle
 * @param {number} color
 */
function fill(pixels, offsets, middle, color) {
  for (let k = 0; k < offsets.length; k += 1) pixels[middle + offsets[k]] = color;
}

/**
 * @param {Target} target
 * @param {Stamp} stamp
 * @param {number} column
 * @param {number} row
 * @param {number} color
 */
function press(target, stamp, column, row, color) {
  for (const { dx, dy, covered } of stamp) {
    const [x, y] = [column + dx, row + dy];
    if (x < 0 || y < 0 || x >= target.width || y >= target.height) continue;
    const index = y * target.width + x;
    target.pixels[index] = covered >= 1 ? color : blend(target.pixels[index], color, covered);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{ cluster: number, size: number, x: number, y: number }[]} centers
 * @param {Placement} place
 * @param {MapColors} colors
 * @param {number} ratio
 */
export function drawNumbers(context, centers, place, colors, ratio) {
  context.font = `600 ${14 * ratio}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4 * ratio;
  context.strokeStyle = colors.halo;
  context.fillStyle = colors.ink;
  for (const center of centers) write(context, String(center.cluster), ...placeOf(center, place, ratio));
}

/**
 * Return where the number of a cluster is written.
 * @param {{ size: number, x: number, y: number }} center
 * @param {Placement} place
 * @param {number} ratio
 * @returns {[number, number]}
 */
function placeOf({ size, x, y }, place, ratio) {
  const lift = size < 5 ? 13 * ratio : 0; // beside the few points, so as not to cover them
  return [place.x + x * place.scale, place.y - y * place.scale - lift];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} column
 * @param {number} row
 */
function write(context, text, column, row) {
  context.strokeText(text, column, row);
  context.fillText(text, column, row);
}

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */

/**
 * Return which boxes have room, going from the first to the last: in the frame, apart from what is taken and each other.
 * @param {Box[]} boxes
 * @param {Box[]} taken
 * @param {{ width: number, height: number }} frame
 */
export function boxesWithRoom(boxes, taken, { width, height }) {
  const all = [...taken];
  return boxes.map((box) => {
    const { left, right, top, bottom } = box;
    const isFree = left >= 0 && top >= 0 && right <= width && bottom <= height
      && all.every((other) => right <= other.left || left >= other.right || bottom <= other.top || top >= other.bottom);
    if (isFree) all.push(box);
    return isFree;
  });
}

/**
 * Write the name and the words of clusters under their numbers, those of large ones first, where there is room.
 * @param {CanvasRenderingContext2D} context
 * @param {{ cluster: number, size: number, x: number, y: number }[]} centers
 * @param {(cluster: number) => string[]} captionOf lines of text
 * @param {Placement} place
 * @param {number} ratio
 * @returns {Box[]} where something is written now, the numbers among it
 */
export function drawCaptions(context, centers, captionOf, place, ratio) {
  const line = 14 * ratio;
  const numbers = centers.map((center) => boxAround(...placeOf(center, place, ratio), 2 * line, 1.25 * line));
  context.font = `${12 * ratio}px system-ui, sans-serif`;
  const captions = [...centers].sort((a, b) => b.size - a.size).map((center) => ({ center, lines: captionOf(center.cluster) })).filter(({ lines }) => lines.length);
  const boxes = captions.map(({ center, lines }) => {
    const [column, row] = placeOf(center, place, ratio);
    const width = Math.max(...lines.map((text) => context.measureText(text).width));
    return boxAround(column, row + (0.65 + lines.length / 2) * line, width, lines.length * line);
  });
  const hasRoom = boxesWithRoom(boxes, numbers, context.canvas);
  const written = boxes.filter((_, at) => hasRoom[at]);
  captions.filter((_, at) => hasRoom[at]).forEach(({ lines }, at) => {
    const { left, right, top } = written[at];
    lines.forEach((text, number) => write(context, text, (left + right) / 2, top + (number + 0.5) * line));
  });
  return [...numbers, ...written];
}

/**
 * @param {number} column
 * @param {number} row
 * @param {number} width
 * @param {number} height
 * @returns {Box}
 */
function boxAround(column, row, width, height) {
  return { left: column - width / 2, right: column + width / 2, top: row - height / 2, bottom: row + height / 2 };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Float32Array} points
 * @param {number[]} positions
 * @param {Placement} place
 * @param {number} radius
 * @param {string} color
 * @param {number} width
 */
export function drawRings(context, points, positions, place, radius, color, width) {
  context.strokeStyle = color;
  context.lineWidth = width;
  for (const k of positions) {
    context.beginPath();
    const [x, y] = [points[k * STRIDE], points[k * STRIDE + 1]];
    context.arc(place.x + x * place.scale, place.y - y * place.scale, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./map_input.js").Pixel[]} outline
 * @param {string} color
 * @param {number} ratio
 */
export function drawLasso(context, outline, color, ratio) {
  context.beginPath();
  for (const { column, row } of outline) context.lineTo(column * ratio, row * ratio);
  context.closePath();
  context.strokeStyle = color;
  context.lineWidth = 2 * ratio;
  context.stroke();
  context.globalAlpha = 0.12;
  context.fillStyle = color;
  context.fill();
  context.globalAlpha = 1;
}
