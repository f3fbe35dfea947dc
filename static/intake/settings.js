// The settings page. Which section is shown is said to screen readers too; three sounds of the project are drawn as the form
// for pictures says, before it is sent.

import { explain } from "../web/problem.js";

const PAUSE_MS = 300;
const NAMES = ["low_hz", "high_hz", "window_seconds", "dynamic_range_db", "seconds", "expansion", "colour_map"];
const FIT = "fit"; // settings that the server fits to the recordings when the form is sent
const DRAWN = "Preview; nothing is changed yet.";

/** Mark the link of the section that the address names; without a name, the first is shown. */
function markSection() {
  const links = [...document.querySelectorAll(".contents a")];
  const refused = document.querySelector("[data-refused]")?.id;
  const shown = document.querySelector(".sections :target")?.closest(".sections > section")?.id ?? refused;
  const current = links.find((link) => link.getAttribute("href") === `#${shown}`) ?? links[0];
  for (const link of links) link.toggleAttribute("aria-current", link === current);
}

addEventListener("hashchange", markSection);
markSection();

const form = document.getElementById("picture-form");
let timer = 0;

/**
 * @param {HTMLFormElement} form
 * @param {string} name
 */
function field(form, name) {
  return /** @type {HTMLInputElement | HTMLSelectElement} */ (form.elements.namedItem(name));
}

/**
 * Put the values of a preset into the fields, where they can be changed.
 * @param {HTMLFormElement} form
 */
function takePreset(form) {
  const preset = /** @type {HTMLSelectElement} */ (field(form, "preset"));
  const values = preset.selectedOptions[0]?.dataset ?? {};
  for (const name of NAMES) {
    const value = values[name];
    if (value !== undefined) field(form, name).value = name === "colour_map" ? value : String(Number(value));
  }
}

/** @param {HTMLFormElement} form */
function draw(form) {
  if (field(form, "preset").value === FIT) {
    say("The settings are fitted to the recordings when you draw the pictures again.");
    return;
  }
  const words = form.checkValidity() ? DRAWN : "Fill in every setting to see the pictures.";
  say(words);
  if (words !== DRAWN) return;
  const settings = Object.fromEntries(NAMES.map((name) => [name, field(form, name).value]));
  for (const picture of /** @type {NodeListOf<HTMLImageElement>} */ (form.querySelectorAll("img[data-key]"))) {
    const query = new URLSearchParams({ key: picture.dataset.key ?? "", ...settings });
    const address = `${form.querySelector("[data-trial]")?.getAttribute("data-trial")}?${query}`;
    if (picture.getAttribute("src") !== address) picture.src = address;
  }
}

/** @param {string} words */
function say(words) {
  const line = document.getElementById("trial-words");
  if (line && line.textContent !== words) line.textContent = words;
}

if (form instanceof HTMLFormElement && form.querySelector("[data-trial]")) {
  form.addEventListener("input", (event) => {
    const changed = event.target;
    if (changed === field(form, "preset")) takePreset(form);
    else field(form, "preset").value = "";
    clearTimeout(timer);
    timer = setTimeout(() => draw(form), PAUSE_MS);
  });
  form.addEventListener("error", async (event) => {
    if (event.target instanceof HTMLImageElement) say(await explain(await fetch(event.target.src))); // why nothing could be drawn
  }, true);
  draw(form);
}
