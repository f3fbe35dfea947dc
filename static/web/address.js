// Where the service is on its host: at the top, or below the path that its public address has.

const { pathname } = new URL(import.meta.url);
const top = pathname.slice(0, pathname.lastIndexOf("static/"));

/**
 * Return the address of a path of the service.
 * @param {string} path with a slash at its beginning
 */
export const local = (path) => top + path.slice(1);
