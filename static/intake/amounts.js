// How much and how long, in words for people.

/** @type {[size: number, unit: string][]} */
const SIZES = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

/** @param {number} bytes */
export function inBytes(bytes) {
  const [size, unit] = SIZES.find(([least]) => bytes >= least) ?? [1, "bytes"];
  return `${(bytes / size).toLocaleString("en", { maximumFractionDigits: 1 })} ${unit}`;
}

/** @param {number} seconds */
export function timeLeft(seconds) {
  if (seconds < 10) return "a few seconds left";
  if (seconds < 90) return `about ${10 * Math.round(seconds / 10)} s left`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} min left`;
  return `about ${Math.round(seconds / 3600)} h left`;
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
