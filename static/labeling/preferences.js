// How a labeler likes to look and listen: kept in the browser for all projects, changed in the help panel or by a key.

import { byId } from "../web/dom.js";

const KEY = "tercet-labeling";
const COLOURS = ["drawn", "strong", "grey", "paper"];

/** @typedef {{ colours: string, isLevelled: boolean, playsItself: boolean }} Preferences */

export class PreferencesForm {
  #colours = byId("colours", HTMLSelectElement);
  #levelled = byId("levelled", HTMLInputElement);
  #itself = byId("plays-itself", HTMLInputElement);

  /** `onChange` is called with the preferences now and whenever they change. @param {(preferences: Preferences) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    const { colours, isLevelled, playsItself } = load();
    this.#colours.value = COLOURS.includes(colours) ? colours : "drawn";
    this.#levelled.checked = isLevelled;
    this.#itself.checked = playsItself;
    for (const field of [this.#colours, this.#levelled, this.#itself]) field.addEventListener("change", () => this.#changed());
    onChange(this.preferences);
  }

  /** @returns {Preferences} */
  get preferences() {
    return { colours: this.#colours.value, isLevelled: this.#levelled.checked, playsItself: this.#itself.checked };
  }

  /** Return the name of the next colours, which are shown from now on. */
  changeColours() {
    this.#colours.value = COLOURS[(COLOURS.indexOf(this.#colours.value) + 1) % COLOURS.length];
    this.#changed();
    return this.#colours.selectedOptions[0].text;
  }

  /** Return whether sounds are played at one loudness from now on. */
  changeLevel() {
    this.#levelled.checked = !this.#levelled.checked;
    this.#changed();
    return this.#levelled.checked;
  }

  #changed() {
    this.onChange(this.preferences);
    try {
      localStorage.setItem(KEY, JSON.stringify(this.preferences));
    } catch {
      // Without storage they hold for this page.
    }
  }
}

/** @returns {Preferences} */
function load() {
  const first = { colours: "drawn", isLevelled: false, playsItself: false };
  try {
    return { ...first, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return first;
  }
}
