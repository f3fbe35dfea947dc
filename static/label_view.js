// What the labeling page shows; it is told what to show and decides nothing.

import { isSound, picture, toggle } from "./preload.js";

export const WORDS = { yes: "yes", no: "no", dnk: "don't know", skip: "skipped" };
const by = (id) => document.getElementById(id);
const figures = [...document.querySelectorAll(".item")];

// Shows the question and resolves to the time at which it was painted.
export async function showQuestion(question) {
  by("asking").hidden = by("question").hidden = by("skip").hidden = false;
  by("nothing").hidden = true;
  const shown = question.triplet.map((key, place) => showItem(figures[place], key, question.items[key]));
  await Promise.all(shown);
  return new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())));
}

function showItem(figure, key, item) {
  const place = figure.dataset.place;
  const view = figure.querySelector(".view");
  const button = figure.querySelector(".play");
  figure.querySelector(".caption").textContent = item.picture_url ? item.text : "";
  button.hidden = !isSound(item);
  button.querySelector(".verb").textContent = "Play";
  button.onclick = () => toggle(item.media_url, button);
  if (item.picture_url) {
    const image = picture(item.picture_url);
    image.alt = `${isSound(item) ? "Spectrogram" : "Picture"} of item ${place}`;
    view.replaceChildren(image);
    return image.ready;
  }
  const words = document.createElement("p");
  words.className = "words";
  words.textContent = item.text || key;
  view.replaceChildren(words);
  return true;
}

export function showNothing(reason) {
  by("asking").hidden = by("question").hidden = by("skip").hidden = true;
  by("nothing").hidden = false;
  by("reason").textContent = reason;
}

export function showHistory(history) {
  by("last").replaceChildren(
    ...history.slice(-5).reverse().map((one) => {
      const entry = document.createElement("li");
      entry.textContent = WORDS[one.answer] ?? one.answer;
      return entry;
    }),
  );
  by("undo").querySelector("button").disabled = history.length === 0;
}

export function showProgress({ mine, mine_today, project_answers }) {
  by("today").textContent = mine_today;
  by("mine").textContent = mine;
  by("everybody").textContent = project_answers.toLocaleString("en");
}

export function showOutbox(outbox) {
  const count = outbox.waiting === 1 ? "1 answer" : `${outbox.waiting} answers`;
  const [state, text] = outbox.trouble
    ? ["waiting", `${count} waiting: ${outbox.trouble}`]
    : outbox.waiting
      ? ["sending", "saving…"]
      : outbox.refused.length
        ? ["refused", `not accepted: ${outbox.refused.at(-1)}`]
        : ["saved", "saved"];
  const saved = by("saved");
  const before = saved.dataset.state;
  saved.dataset.state = state;
  saved.textContent = text;
  // Said aloud only when it turns: "saved" after every answer would drown the questions.
  const turned = before !== state && (state === "waiting" || state === "refused" || before === "waiting");
  if (turned) say(text);
}

export function say(text) {
  by("spoken").textContent = text;
}

export function press(button) {
  button?.classList.add("pressed");
  setTimeout(() => button?.classList.remove("pressed"), 140);
}
