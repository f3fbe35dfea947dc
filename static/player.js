// Plays the sound behind a thumbnail marked data-play, one at a time; the link itself still works without this.

let sound = null;
let shown = null;

export function playOnClick() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-play]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const same = shown === link;
    stop();
    if (!same) start(link);
  });
}

function start(link) {
  shown = link;
  sound = new Audio(link.href);
  link.classList.add("playing");
  sound.addEventListener("ended", stop);
  sound.addEventListener("error", stop);
  sound.play().catch(stop);
}

function stop() {
  sound?.pause();
  shown?.classList.remove("playing");
  sound = shown = null;
}
