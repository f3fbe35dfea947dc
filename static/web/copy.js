// Makes buttons with data-copy copy the text of the element with that id to the clipboard.

import { closest } from "./dom.js";

const SAID_MS = 2000;

export function copyOnClick() {
  document.addEventListener("click", async (event) => {
    const button = closest(event, "button[data-copy]");
    const source = document.getElementById(button?.dataset.copy ?? "");
    if (!button || !source) return;
    const label = button.textContent;
    button.textContent = (await copy(source)) ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => (button.textContent = label), SAID_MS);
  });
}

/**
 * Copy the text of an element; where the browser does not allow that, as over plain HTTP, select it.
 * @param {HTMLElement} source
 */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent?.trim() ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(source);
    return false;
  }
}
