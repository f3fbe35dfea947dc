// Plays the sound of a link with data-play, one at a time; without this script the link opens the sound.

/** @type {{ link: HTMLAnchorElement, audio: HTMLAudioElement } | null} */
let playing = null;

export function playOnClick() {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-play]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const isPlaying = playing?.link === link;
    stop();
    if (!isPlaying) start(link);
  });
}

/** @param {HTMLAnchorElement} link */
function start(link) {
  const audio = new Audio(link.href);
  playing = { link, audio };
  link.classList.add("playing");
  audio.addEventListener("ended", stop);
  audio.addEventListener("error", stop);
  audio.play().catch(stop);
}

function stop() {
  playing?.audio.pause();
  playing?.link.classList.remove("playing");
  playing = null;
}
