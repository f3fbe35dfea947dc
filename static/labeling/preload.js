// Pictures and sounds of the questions ahead, fetched and decoded before they are needed, so that the next
// question is on screen within one frame of the answer.

/**
 * @typedef {{ text: string, media_type: string | null, media_url: string | null, picture_url: string | null,
 *   seconds?: number | null }} Item
 * @typedef {{ triplet: string[], items: Record<string, Item>, isAgain?: boolean }} Question
 */

/**
 * A picture's element, whether it can be painted at once, and a promise that says whether it could be loaded.
 * @typedef {{ image: HTMLImageElement, isDecoded: boolean, loaded: Promise<boolean> }} Picture
 */

const CACHE_SIZE = 100; // those of twelve questions ahead and of twenty that can be undone

/** @type {Map<string, Picture>} */
const pictures = new Map();
/** @type {Map<string, Promise<string>>} */
const sounds = new Map();

/** @param {Question} question */
export function preload(question) {
  for (const item of Object.values(question.items)) {
    if (item.picture_url) loadPicture(item.picture_url);
    if (item.media_url && isSound(item)) loadSound(item.media_url);
  }
}

/** @param {Item} item */
export function isSound(item) {
  return Boolean(item.media_url) && (item.media_type ?? "").startsWith("audio/");
}

/**
 * Return the same element every time, so that a decoded picture is painted as soon as it is on the page.
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
      if (!isLoaded && pictures.get(url) === picture) pictures.delete(url); // fetched anew when it is asked for again
    });
    return picture;
  });
}

/**
 * Give up on those pictures of a question that have not come, so that they are fetched anew.
 * @param {Question} question
 */
export function dropUnloaded(question) {
  for (const { picture_url: url } of Object.values(question.items)) {
    const picture = url ? pictures.get(url) : undefined;
    if (!url || !picture || picture.isDecoded) continue;
    pictures.delete(url);
    picture.image.src = ""; // ends the request, which a new element for the same address would only join
  }
}

/**
 * Return an address of the sound in memory, so that it also plays while the network is away.
 * @param {string} url
 */
export function loadSound(url) {
  const fetchSound = () => {
    const address = fetch(url).then(async (response) => {
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      return URL.createObjectURL(await response.blob());
    });
    address.catch(() => sounds.delete(url)); // fetched anew when it is asked for again
    return address;
  };
  return cached(sounds, url, fetchSound, (address) => address.then(URL.revokeObjectURL, () => {}));
}

/**
 * Return the value cached for an address, made if need be, and drop the one that was not used for longest.
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
