// Paints very many points as density: the more items lie in a spot, the stronger it is, in the mean of their colours. As
// points painted one over the other, each spot would show the last of its items alone, and all spots would look alike.

import { shadeIndex } from "./colors.js";
import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";

/** @typedef {import("./map_paint.js").Placement} Placement */
/** @typedef {import("./colors.js").MapColors} MapColors */
/** @typedef {{ chosen: number, passing: Uint8Array | null, tint: Uint16Array | null, every: number }} Choice as for points */
/** @typedef {{ columns: number, rows: number, side: number }} Cells */
/** @typedef {{ count: Float32Array, red: Float32Array, green: Float32Array, blue: Float32Array }} Layer sums over the items of a cell */

const SIDE = 2; // of a cell, in the pixels of the page
const FAINTEST = 0.25; // how strong the spot of a single item is

/**
 * Paint where items lie, how many they are, and which; what is in front is painted over what fades.
 * @param {ImageData} image
 * @param {Float32Array} points
 * @param {Placement} place
 * @param {MapColors} colors
 * @param {number} ratio
 * @param {Choice} choice
 */
export function paintDensity(image, points, place, colors, ratio, choice) {
  const side = Math.max(1, Math.round(SIDE * ratio));
  const cells = { columns: Math.ceil(image.width / side), rows: Math.ceil(image.height / side), side };
  const fades = choice.chosen > 0 || choice.passing !== null;
  const [front, back] = gather(points, place, colors, cells, choice);
  const strengths = [strengthsOf(front.count), fades ? strengthsOf(back.count) : null];
  fillCells(image, cells, front, strengths, colors);
}

/**
 * Sum up the items of each cell, those in front and those that fade.
 * @param {Float32Array} points
 * @param {Placement} place
 * @param {MapColors} colors
 * @param {Cells} cells
 * @param {Choice} choice
 */
function gather(points, place, colors, { columns, rows, side }, { chosen, passing, tint, every }) {
  const n = columns * rows;
  const [front, back] = [layer(n), layer(chosen || passing ? n : 0)];
  for (let i = 0; i < points.length; i += every * STRIDE) {
    const cluster = points[i + CLUSTER];
    if (cluster < 1) continue; // set aside
    const column = Math.floor((place.x + points[i] * place.scale) / side);
    const row = Math.floor((place.y - points[i + 1] * place.scale) / side);
    if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
    const isInFront = (!chosen || cluster === chosen) && (!passing || passing[i / STRIDE] === 1);
    const { count, red, green, blue } = isInFront ? front : back;
    const color = colors.table[tint ? tint[i / STRIDE] : shadeIndex(cluster, points[i + CONFIDENCE])];
    const cell = row * columns + column;
    count[cell] += every;
    red[cell] += every * (color & 255);
    green[cell] += every * ((color >>> 8) & 255);
    blue[cell] += every * ((color >>> 16) & 255);
  }
  for (const sums of Object.values(front)) blur(sums, columns, rows);
  if (back.count.length) blur(back.count, columns, rows);
  return [front, back];
}

/**
 * @param {number} n
 * @returns {Layer}
 */
function layer(n) {
  return { count: new Float32Array(n), red: new Float32Array(n), green: new Float32Array(n), blue: new Float32Array(n) };
}

/**
 * Spread what is in each cell over its neighbours, so that single items are spots, not grains.
 * @param {Float32Array} sums
 * @param {number} columns
 * @param {number} rows
 */
function blur(sums, columns, rows) {
  const above = new Float32Array(columns);
  for (let row = 0; row < rows; row += 1) {
    const start = row * columns;
    let left = sums[start];
    for (let cell = start; cell < start + columns - 1; cell += 1) {
      const here = sums[cell];
      sums[cell] = (left + 2 * here + sums[cell + 1]) / 4;
      left = here;
    }
    // This row and the one above it are blurred sideways by now, so that the one above can be blurred up and down, too.
    if (row > 1) for (let k = 0; k < columns; k += 1) {
      const middle = start - columns + k;
      const here = sums[middle];
      sums[middle] = (above[k] + 2 * here + sums[start + k]) / 4;
      above[k] = here;
    } else if (row === 1) above.set(sums.subarray(0, columns));
  }
}

/**
 * Return how strong each cell is, from 0 to 1, by the logarithm of how many items it has.
 * @param {Float32Array} count
 */
function strengthsOf(count) {
  let most = 0;
  for (let cell = 0; cell < count.length; cell += 1) if (count[cell] > most) most = count[cell];
  const factor = (1 - FAINTEST) / (Math.log1p(most) || 1);
  const strengths = new Float32Array(count.length);
  for (let cell = 0; cell < count.length; cell += 1) {
    const value = count[cell];
    if (value > 0) strengths[cell] = Math.min(1, 4 * value) * (FAINTEST + factor * Math.log1p(value));
  }
  return strengths;
}

/**
 * @param {ImageData} image
 * @param {Cells} cells
 * @param {Layer} front
 * @param {(Float32Array | null)[]} strengths
 * @param {MapColors} colors
 */
function fillCells(image, { columns, rows, side }, { count, red, green, blue }, [inFront, behind], colors) {
  const pixels = new Uint32Array(image.data.buffer);
  const faded = channels(colors.faded);
  const background = channels(colors.background);
  const line = new Uint32Array(columns * side);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const cell = row * columns + column;
      const [over, under] = [inFront ? inFront[cell] : 0, behind ? behind[cell] : 0];
      let color = colors.background;
      if (over > 0 || under > 0) {
        const items = count[cell] || 1;
        const r = mixed(background[0], faded[0], under, red[cell] / items, over);
        const g = mixed(background[1], faded[1], under, green[cell] / items, over);
        const b = mixed(background[2], faded[2], under, blue[cell] / items, over);
        color = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
      }
      line.fill(color, column * side, (column + 1) * side);
    }
    const painted = line.subarray(0, image.width);
    for (let y = row * side; y < Math.min(image.height, (row + 1) * side); y += 1) pixels.set(painted, y * image.width);
  }
}

/**
 * Return a channel of the background with what fades over it, and what is in front over that.
 * @param {number} background
 * @param {number} faded
 * @param {number} under
 * @param {number} color
 * @param {number} over
 */
function mixed(background, faded, under, color, over) {
  const base = background + (faded - background) * under;
  return Math.round(base + (color - base) * over);
}

/** @param {number} color */
function channels(color) {
  return [color & 255, (color >>> 8) & 255, (color >>> 16) & 255];
}
