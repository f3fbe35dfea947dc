// Shows both themes on one page: each half gets the tokens of its theme, read from the style sheets themselves.

/**
 * Return the custom properties that apply to the root in a theme, those of later rules last.
 * @param {boolean} isDark
 */
function tokensOf(isDark) {
  /** @type {[string, string][]} */
  const tokens = [];
  const read = (/** @type {CSSRuleList} */ rules) => {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule && isDark && rule.conditionText.includes("prefers-color-scheme: dark")) read(rule.cssRules);
      if (!(rule instanceof CSSStyleRule) || rule.selectorText !== ":root") continue;
      for (const name of rule.style) if (name.startsWith("--")) tokens.push([name, rule.style.getPropertyValue(name)]);
    }
  };
  for (const sheet of document.styleSheets) read(sheet.cssRules);
  return tokens;
}

document.documentElement.classList.add("js");
for (const half of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-theme]"))) {
  const isDark = half.dataset.theme === "dark";
  for (const [name, value] of tokensOf(isDark)) half.style.setProperty(name, value);
  half.style.colorScheme = isDark ? "dark" : "light";
}
for (const patch of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-color]"))) {
  patch.style.background = patch.dataset.color ?? "";
}
