// The colours of clusters, read from the stylesheet's tokens so that light and dark have one source.
// Confidence becomes paleness: each cluster has LEVELS steps from the card's colour to its own.

export const PALETTE = 20;
const LEVELS = 8;
const PALEST = 0.3;

function token(styles, name) {
  return parse(styles.getPropertyValue(name));
}

function parse(hex) {
  const number = Number.parseInt(hex.trim().slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function mix(from, to, share) {
  return from.map((value, k) => Math.round(value + (to[k] - value) * share));
}

// ImageData read as 32-bit numbers is alpha, blue, green, red on every machine that browsers run on.
function pack([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function readColors(element) {
  const styles = getComputedStyle(element);
  const card = token(styles, "--card");
  const clusters = Array.from({ length: PALETTE }, (_, k) => token(styles, `--c${k + 1}`));
  return {
    background: pack(card),
    faded: pack(mix(card, token(styles, "--muted"), 0.3)),
    ink: styles.getPropertyValue("--ink"),
    halo: styles.getPropertyValue("--card"),
    accent: styles.getPropertyValue("--accent"),
    table: Uint32Array.from(clusters.flatMap((color) => shades(card, color))),
  };
}

function shades(card, color) {
  return Array.from({ length: LEVELS }, (_, k) => pack(mix(card, color, PALEST + ((1 - PALEST) * k) / (LEVELS - 1))));
}

export function shadeIndex(cluster, confidence) {
  const level = Math.min(LEVELS - 1, Math.max(0, Math.floor(confidence * LEVELS)));
  return ((cluster - 1) % PALETTE) * LEVELS + level;
}

// After twenty clusters the colours repeat with another shape.
export function shapeOf(cluster) {
  return Math.floor((cluster - 1) / PALETTE) % 4;
}
