// The colours of clusters, read from the custom properties of the stylesheet, where those of both themes are.
// Uncertain items are pale: each cluster has LEVELS steps from the card's colour to its own.

export const PALETTE = 20;
const LEVELS = 8;
const PALEST = 0.3;
const RAMP = 16; // steps of a number's colour, from the lowest to the highest
export const UNKNOWN_SHADE = PALETTE * LEVELS + RAMP; // after the shades of clusters and the ramp

/** @typedef {number[]} Color red, green and blue, 0 to 255 each */
/** @typedef {ReturnType<typeof readColors>} MapColors */

/** @param {string} hex */
function parse(hex) {
  const number = Number.parseInt(hex.trim().slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/**
 * @param {Color} from
 * @param {Color} to
 * @param {number} share
 */
function mix(from, to, share) {
  return from.map((value, k) => Math.round(value + (to[k] - value) * share));
}

/**
 * Return a colour as a 32-bit number of ImageData: alpha, blue, green, red (all browsers run on little-endian machines).
 * @param {Color} color
 */
function pack([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** @param {Element} element */
export function readColors(element) {
  const styles = getComputedStyle(element);
  const token = (/** @type {string} */ name) => parse(styles.getPropertyValue(name));
  const card = token("--card");
  const clusters = Array.from({ length: PALETTE }, (_, k) => token(`--c${k + 1}`));
  return {
    background: pack(card),
    faded: pack(mix(card, token("--muted"), 0.3)),
    ink: styles.getPropertyValue("--ink"),
    halo: styles.getPropertyValue("--card"),
    accent: styles.getPropertyValue("--accent"),
    table: Uint32Array.from([...clusters.flatMap((color) => shades(card, color)), ...ramp(token), pack(mix(card, token("--muted"), 0.3))]),
  };
}

/**
 * Return the steps between the colours of the lowest, a middle and the highest number.
 * @param {(name: string) => Color} token
 */
function ramp(token) {
  const [low, middle, high] = ["--ramp-low", "--ramp-middle", "--ramp-high"].map(token);
  return Array.from({ length: RAMP }, (_, step) => {
    const share = (2 * step) / (RAMP - 1);
    return pack(share < 1 ? mix(low, middle, share) : mix(middle, high, share - 1));
  });
}

/**
 * Return the place in the table for a number's share of the way from the lowest to the highest.
 * @param {number} share
 */
export function rampIndex(share) {
  return PALETTE * LEVELS + Math.min(RAMP - 1, Math.max(0, Math.floor(share * RAMP)));
}

/**
 * @param {Color} card
 * @param {Color} color
 */
function shades(card, color) {
  return Array.from({ length: LEVELS }, (_, k) => pack(mix(card, color, PALEST + ((1 - PALEST) * k) / (LEVELS - 1))));
}

/**
 * @param {number} cluster
 * @param {number} confidence
 */
export function shadeIndex(cluster, confidence) {
  const level = Math.min(LEVELS - 1, Math.max(0, Math.floor(confidence * LEVELS)));
  return ((cluster - 1) % PALETTE) * LEVELS + level;
}

/**
 * Return a cluster's shape: after twenty clusters colours repeat, with another shape.
 * @param {number} cluster
 */
export function shapeOf(cluster) {
  return Math.floor((cluster - 1) / PALETTE) % 4;
}
