// The cards of clusters: a card's number becomes a button that shows its cluster alone on the map.

export function dressCards(map) {
  for (const card of document.querySelectorAll(".cluster")) {
    const label = card.querySelector("h3 .chip");
    if (!label || label.closest("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.choose = card.dataset.cluster;
    button.title = "Show on the map";
    label.replaceWith(button);
    button.append(label);
  }
  markChosen(map);
}

export function markChosen(map) {
  for (const card of document.querySelectorAll(".cluster")) {
    const chosen = Number(card.dataset.cluster) === map.chosen;
    card.classList.toggle("chosen", chosen);
    card.querySelector("[data-choose]")?.setAttribute("aria-pressed", String(chosen));
  }
}

export function choose(map, cluster) {
  map.choose(map.chosen === cluster ? 0 : cluster);
  markChosen(map);
}
