// Why a request failed. The server refuses with an application/problem+json body (RFC 9457); an error of any other type
// was written by something on the way, such as a proxy, and says nothing about what was asked.

/** @typedef {{ detail: string, errors?: { field: string, detail: string }[] }} Problem */

/**
 * Return what the server itself says is wrong, or null when something on the way answered.
 * @param {Response} response
 * @returns {Promise<Problem | null>}
 */
export async function readProblem(response) {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok || !type.startsWith("application/problem+json")) return null;
  return response.json().catch(() => null);
}

/**
 * Return what the server sent, or null where something on the way answered in its place: the sign-in page of a network
 * comes with status 200, but it is no JSON.
 * @param {Response} response
 * @returns {Promise<any>}
 */
export function readBody(response) {
  return response.json().catch(() => null);
}

/**
 * Return a sentence for people that says why a request failed.
 * @param {Response} response
 */
export async function explain(response) {
  const problem = await readProblem(response);
  if (!problem) return `The server was not reached: something on the way to it answered with status ${response.status}. Try again.`;
  return [problem.detail, ...(problem.errors ?? []).map((error) => `${error.field}: ${error.detail}`)].join(" ");
}
