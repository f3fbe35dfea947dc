// Finds elements by id, selector or event, with the type that the caller needs. An element that is missing or has another
// type is an error that names it, instead of a "null has no property" somewhere later.

/**
 * Return the element with this id, which the page must have.
 * @template {Element} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type]
 * @returns {T}
 */
export function byId(id, type) {
  return checked(document.getElementById(id), `#${id}`, type);
}

/**
 * Return the first element that the selector matches, which must exist.
 * @template {Element} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} [type]
 * @returns {T}
 */
export function query(root, selector, type) {
  return checked(root.querySelector(selector), selector, type);
}

/**
 * Return the nearest element around an event's target that the selector matches, or null.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function closest(event, selector) {
  return event.target instanceof Element ? event.target.closest(selector) : null;
}

/**
 * Return a new element with properties and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<HTMLElementTagNameMap[K]>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function createElement(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/**
 * @template {Element} T
 * @param {Element | null} element
 * @param {string} name
 * @param {new () => T} [type]
 * @returns {T}
 */
function checked(element, name, type) {
  const expected = type ?? HTMLElement;
  if (!(element instanceof expected)) throw new TypeError(`the page has no ${expected.name} ${name}`);
  return /** @type {T} */ (element);
}
