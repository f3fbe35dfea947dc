// Says messages in the language of the page: its translations lie in `data-words` of the document, English needs none.

/** @type {{ messages: Record<string, string | string[]>, plurals: string }} */
const { messages, plurals } = JSON.parse(document.documentElement.dataset.words ?? '{"messages": {}, "plurals": "10"}');

/**
 * Return a message with values in its places like {name}.
 * @param {string} message
 * @param {Record<string, string | number>} [values]
 */
export function say(message, values = {}) {
  return filled(String(messages[message] ?? message), values);
}

/**
 * Return the form of a message for a number, which its places {count} get.
 * @param {string} one
 * @param {string} many
 * @param {number} count
 * @param {Record<string, string | number>} [values]
 */
export function sayMany(one, many, count, values = {}) {
  const forms = messages[one] ?? [many, one];
  const place = messages[one] ? Number(plurals[count < plurals.length ? count : 100 + (count % 100)]) : Number(count === 1);
  return filled(forms[place], { count: number(count), ...values });
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString(document.documentElement.lang || "en");
}

/**
 * @param {string} message
 * @param {Record<string, string | number>} values
 */
function filled(message, values) {
  return message.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
}
