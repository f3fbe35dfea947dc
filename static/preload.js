// Pictures and sounds of the questions ahead, fetched and decoded before they are needed, so that the next
// question is on screen within one frame of the answer.

const KEPT = 100; // those of twelve questions ahead and of twenty that can be undone

const pictures = new Map();
const sounds = new Map();

export function preload(question) {
  for (const item of Object.values(question.items)) {
    if (item.picture_url) picture(item.picture_url);
    if (isSound(item)) sound(item.media_url);
  }
}

export function isSound(item) {
  return Boolean(item.media_url) && (item.media_type ?? "").startsWith("audio/");
}

// The same element every time, already decoded: putting it on the page paints it at once.
export function picture(url) {
  return recent(pictures, url, () => {
    const image = new Image();
    image.src = url;
    image.ready = image.decode().then(
      () => true,
      () => false, // shown as its alternative text, and asked all the same
    );
    return image;
  });
}

// An address of the sound in memory, so that it also plays while the network is away.
function sound(url) {
  return recent(sounds, url, () => {
    const address = fetch(url).then(async (response) => {
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      return URL.createObjectURL(await response.blob());
    });
    address.catch(() => sounds.delete(url)); // fetched anew when it is asked for again
    return address;
  }, (address) => address.then(URL.revokeObjectURL, () => {}));
}

function recent(cache, url, make, drop = () => {}) {
  const value = cache.get(url) ?? make();
  cache.delete(url);
  cache.set(url, value);
  if (cache.size > KEPT) {
    const [oldest, dropped] = cache.entries().next().value;
    cache.delete(oldest);
    drop(dropped);
  }
  return value;
}

let playing = null;

// Plays one sound at a time; the button that started it stops it.
export async function toggle(url, button) {
  const same = playing?.button === button;
  stop();
  if (same) return;
  const mine = (playing = { button, audio: new Audio() });
  mark(button, true);
  mine.audio.onended = () => playing === mine && stop();
  try {
    mine.audio.src = await sound(url);
    if (playing === mine) await mine.audio.play();
  } catch {
    if (playing === mine) {
      stop();
      button.querySelector(".verb").textContent = "Cannot play";
    }
  }
}

export function stop() {
  if (!playing) return;
  playing.audio.pause();
  mark(playing.button, false);
  playing = null;
}

function mark(button, on) {
  button.classList.toggle("playing", on);
  button.querySelector(".verb").textContent = on ? "Stop" : "Play";
}
