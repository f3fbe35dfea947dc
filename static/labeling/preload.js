// Fetches and decodes the pictures and sounds of the next questions, so that the next question is on the screen within one
// frame after an answer.

/**
 * @typedef {{ seconds: number, low_khz: number, high_khz: number, contour: string, notes: number }} Measures
 * @typedef {{ text: string, media_type: string | null, media_url: string | null, picture_url: string | null,
 *   seconds?: number | null, measures?: Measures | null }} Item
 * @typedef {{ triplet: string[], items: Record<string, Item>, isAgain?: boolean,
 *   isAhead?: boolean, lesson?: { answer: string, reason: string } }} Question
 */

/**
 * A picture's element, whether it is decoded, and a promise of whether it could be loaded.
 * @typedef {{ image: HTMLImageElement, isDecoded: boolean, loaded: Promise<boolean> }} Picture
 */

const CACHE_SIZE = 100; // for twelve upcoming questions and twenty that can be undone

/** @type {Map<string, Picture>} */
const pictures = new Map();
/** @type {Map<string, Promise<string>>} */
const sounds = new Map();

/**
 * @param {Question} question
 * @param {boolean} isLevelled whether its sounds will be played at one loudness
 */
export function preload(question, isLevelled) {
  for (const item of Object.values(question.items)) {
    if (item.picture_url) loadPicture(item.picture_url);
    if (item.media_url && isSound(item)) loadSound(isLevelled ? levelled(item.media_url) : item.media_url);
  }
}

/**
 * Return the address of the same sound at the loudness that all sounds are brought to.
 * @param {string} url
 */
export function levelled(url) {
  return `${url}${url.includes("?") ? "&" : "?"}level=true`;
}

/** @param {Item} item */
export function isSound(item) {
  return Boolean(item.media_url) && (item.media_type ?? "").startsWith("audio/");
}

/**
 * Return the picture of an address, always the same element, so that a decoded one is painted at once.
 * @param {string} url
 */
export function loadPicture(url) {
  return cached(pictures, url, () => {
    const image = new Image();
    image.src = url;
    /** @type {Picture} */
    const picture = { image, isDecoded: false, loaded: image.decode().then(() => true, () => false) };
    picture.loaded.then((isLoaded) => {
      picture.isDecoded = isLoaded;
      if (!isLoaded && pictures.get(url) === picture) pictures.delete(url); // so that it is fetched again when it is needed
    });
    return picture;
  });
}

/**
 * Drop the pictures of a question that are not loaded, so that they are fetched again.
 * @param {Question} question
 */
export function dropUnloaded(question) {
  for (const { picture_url: url } of Object.values(question.items)) {
    const picture = url ? pictures.get(url) : undefined;
    if (!url || !picture || picture.isDecoded) continue;
    pictures.delete(url);
    picture.image.src = ""; // cancels the request: a new element for the same address would wait for it
  }
}

/**
 * Return the address of a sound in memory, so that it plays without a network too.
 * @param {string} url
 */
export function loadSound(url) {
  const fetchSound = () => {
    const address = fetch(url).then(async (response) => {
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      return URL.createObjectURL(await response.blob());
    });
    address.catch(() => sounds.delete(url)); // so that it is fetched again when it is needed
    return address;
  };
  return cached(sounds, url, fetchSound, (address) => address.then(URL.revokeObjectURL, () => {}));
}

/**
 * Return the cached value for an address, creating it if needed, and drop the least recently used one.
 * @template T
 * @param {Map<string, T>} cache
 * @param {string} url
 * @param {() => T} make
 * @param {(value: T) => void} [drop]
 */
function cached(cache, url, make, drop = () => {}) {
  const value = cache.get(url) ?? make();
  cache.delete(url);
  cache.set(url, value);
  if (cache.size > CACHE_SIZE) {
    const [[oldest, dropped]] = cache;
    cache.delete(oldest);
    drop(dropped);
  }
  return value;
}
