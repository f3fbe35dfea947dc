// Why a request failed. The server's errors have an application/problem+json body (RFC 9457); an error of any other type
// is from something in between, such as a proxy, and says nothing about the request itself.

/** @typedef {{ detail: string, errors?: { field: string, detail: string }[], since?: string, then?: string }} Problem */

/**
 * Return the server's problem, or null if the response is not from the server.
 * @param {Response} response
 * @returns {Promise<Problem | null>}
 */
export async function readProblem(response) {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok || !type.startsWith("application/problem+json")) return null;
  return response.json().catch(() => null);
}

/**
 * Return the JSON of a response, or null if it is not from the server: the sign-in page of a network has status 200, but
 * is not JSON.
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
  if (!problem) return `The server was not reached: something in between answered with status ${response.status}. Try again.`;
  return [problem.detail, ...(problem.errors ?? []).map((error) => `${error.field}: ${error.detail}`)].join(" ");
}
