// Where a sound sets in, measured on its spectrogram: a clip often begins with some silence or noise, more or less of it, so
// that sounds are compared from their first note on, not from where somebody has cut them.

const COLUMNS = 400; // that the picture is looked at in
const ROWS = 48;
const QUIET = 0.05; // of the columns are taken to be no louder than the noise
const SHARE = 0.35; // of the way from the noise to the loudest column: louder is sound
const LATEST = 0.5; // of the sound: what sets in later is no beginning

/**
 * Return at which second a sound sets in; 0 where nothing tells.
 * @param {HTMLImageElement | HTMLCanvasElement} image its spectrogram
 * @param {string} ground the colour of silence, as #rrggbb
 * @param {{ span: number, offset: number, seconds: number }} place how many seconds the picture shows, and where in it the
 *   sound begins
 */
export function onsetOf(image, ground, { span, offset, seconds }) {
  if (!(seconds > 0) || !(span > 0)) return 0;
  const all = loudness(image, ground);
  const from = Math.round((offset / span) * all.length);
  const columns = all.slice(from, Math.max(from + 1, Math.round(((offset + seconds) / span) * all.length)));
  const sorted = [...columns].sort((a, b) => a - b);
  const [noise, loudest] = [sorted[Math.floor(QUIET * sorted.length)], sorted[sorted.length - 1]];
  if (noise > loudest / 2) return 0; // it sounds all the time
  const least = noise + SHARE * (loudest - noise);
  // Two columns one after the other: a single one may be a crackle.
  const first = columns.findIndex((value, at) => value > least && (columns[at + 1] ?? value) > least);
  const onset = (Math.max(first, 0) * span) / all.length;
  return onset > LATEST * seconds ? 0 : onset;
}

/**
 * Return how far each column of a picture is from silence, where it is farthest: a note is narrow, noise is everywhere.
 * @param {CanvasImageSource} image
 * @param {string} ground
 */
function loudness(image, ground) {
  const canvas = new OffscreenCanvas(COLUMNS, ROWS);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.drawImage(image, 0, 0, COLUMNS, ROWS);
  const { data } = context.getImageData(0, 0, COLUMNS, ROWS);
  const silence = [1, 3, 5].map((start) => parseInt(ground.slice(start, start + 2), 16));
  const columns = new Float32Array(COLUMNS);
  for (let k = 0; k < COLUMNS * ROWS; k += 1) {
    const loud = Math.abs(data[4 * k] - silence[0]) + Math.abs(data[4 * k + 1] - silence[1]) + Math.abs(data[4 * k + 2] - silence[2]);
    columns[k % COLUMNS] = Math.max(columns[k % COLUMNS], loud);
  }
  return columns;
}
