// Items in words, for who does not see their pictures: sounds by what the server measured, pictures by a look at their
// pixels.

import { say, sayMany } from "../web/words.js";

/** @typedef {import("./preload.js").Item} Item */

const SIDE = 16; // pixels a side that a picture is shrunk to, to be looked at
const COLOURFUL = 0.12; // difference of the strongest and the weakest colour, from 0 to 1, below which it is grey
/** @type {[number, string][]} the end of each hue, in degrees, and its name */
const HUES = [
  [20, say("mostly red")],
  [45, say("mostly orange")],
  [70, say("mostly yellow")],
  [165, say("mostly green")],
  [200, say("mostly turquoise")],
  [260, say("mostly blue")],
  [330, say("mostly purple")],
  [360, say("mostly red")],
];
/** @type {Record<string, string>} */
const CONTOURS = {
  level: say("level"),
  rising: say("rising"),
  falling: say("falling"),
  "rising, then falling": say("rising, then falling"),
  "falling, then rising": say("falling, then rising"),
};

/**
 * Return what is on the picture of an item.
 * @param {Item} item
 * @param {number} place
 */
export function describe(item, place) {
  if ((item.media_type ?? "").startsWith("audio/")) {
    return say("Spectrogram of item {place}", { place: place + 1 }) + describeSound(item);
  }
  const picture = say("Picture of item {place}", { place: place + 1 });
  return item.text ? `${picture}, ${item.text}` : picture;
}

/** @param {Item} item */
function describeSound({ seconds, measures }) {
  if (!measures && !seconds) return "";
  if (!measures) return ": " + say("{seconds} seconds long", { seconds: short(seconds ?? 0) });
  const [low, high] = [short(measures.low_khz), short(measures.high_khz)];
  const pitch = low === high ? `${low} kHz` : say("{low} to {high} kHz", { low, high });
  const notes = sayMany("{count} note", "{count} notes", measures.notes);
  return `: ${short(measures.seconds)} s, ${pitch}, ${CONTOURS[measures.contour] ?? measures.contour}, ${notes}`;
}

/** @param {number} value */
function short(value) {
  return value.toLocaleString(document.documentElement.lang || "en", { maximumSignificantDigits: 2, minimumSignificantDigits: 2 });
}

/**
 * Return the size of a loaded picture, how light it is and its colour.
 * @param {HTMLImageElement} image
 */
export function describePixels(image) {
  const canvas = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
  const context = canvas.getContext("2d");
  if (!context) return "";
  context.drawImage(image, 0, 0, SIDE, SIDE);
  const { data } = context.getImageData(0, 0, SIDE, SIDE);
  const means = [0, 1, 2].map((channel) => {
    let sum = 0;
    for (let at = channel; at < data.length; at += 4) sum += data[at];
    return sum / (255 * SIDE * SIDE);
  });
  const size = say("{width} by {height} pixels", { width: image.naturalWidth, height: image.naturalHeight });
  return `${size}, ${lightness(means)}, ${colour(means)}`;
}

/** @param {number[]} means */
function lightness([red, green, blue]) {
  const light = 0.299 * red + 0.587 * green + 0.114 * blue;
  return light < 0.25 ? say("dark") : light < 0.45 ? say("rather dark") : light < 0.65 ? say("medium light") : say("light");
}

/** @param {number[]} means */
function colour(means) {
  const [red, green, blue] = means;
  const most = Math.max(...means);
  const range = most - Math.min(...means);
  if (range < COLOURFUL) return say("grey");
  const sixth = most === red ? (green - blue) / range : most === green ? 2 + (blue - red) / range : 4 + (red - green) / range;
  const degrees = (60 * sixth + 360) % 360;
  return HUES.find(([end]) => degrees <= end)?.[1] ?? "";
}
