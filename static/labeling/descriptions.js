// Items in words, for who does not see their pictures: sounds by what the server measured, pictures by a look at their
// pixels.

/** @typedef {import("./preload.js").Item} Item */

const SIDE = 16; // pixels a side that a picture is shrunk to, to be looked at
const COLOURFUL = 0.12; // difference of the strongest and the weakest colour, from 0 to 1, below which it is grey
/** @type {[number, string][]} the end of each hue, in degrees, and its name */
const HUES = [[20, "red"], [45, "orange"], [70, "yellow"], [165, "green"], [200, "turquoise"], [260, "blue"], [330, "purple"], [360, "red"]];

/**
 * Return what is on the picture of an item.
 * @param {Item} item
 * @param {number} place
 */
export function describe(item, place) {
  if ((item.media_type ?? "").startsWith("audio/")) {
    return `Spectrogram of item ${place + 1}${describeSound(item)}`;
  }
  return `Picture of item ${place + 1}${item.text ? `, ${item.text}` : ""}`;
}

/** @param {Item} item */
function describeSound({ seconds, measures }) {
  if (!measures) return seconds ? `, ${seconds.toPrecision(2)} seconds long` : "";
  const { low_khz, high_khz, contour, notes } = measures;
  const pitch = low_khz === high_khz ? `${low_khz} kHz` : `${low_khz} to ${high_khz} kHz`;
  return `: ${measures.seconds.toPrecision(2)} s, ${pitch}, ${contour}, ${notes === 1 ? "1 note" : `${notes} notes`}`;
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
  return `${image.naturalWidth} by ${image.naturalHeight} pixels, ${lightness(means)}, ${colour(means)}`;
}

/** @param {number[]} means */
function lightness([red, green, blue]) {
  const light = 0.299 * red + 0.587 * green + 0.114 * blue;
  return light < 0.25 ? "dark" : light < 0.45 ? "rather dark" : light < 0.65 ? "medium light" : "light";
}

/** @param {number[]} means */
function colour(means) {
  const [red, green, blue] = means;
  const most = Math.max(...means);
  const range = most - Math.min(...means);
  if (range < COLOURFUL) return "grey";
  const sixth = most === red ? (green - blue) / range : most === green ? 2 + (blue - red) / range : 4 + (red - green) / range;
  const degrees = (60 * sixth + 360) % 360;
  return `mostly ${HUES.find(([end]) => degrees <= end)?.[1]}`;
}
