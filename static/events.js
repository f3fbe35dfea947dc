// Follows a project's server-sent events. The browser reconnects by itself and resumes where it was.

export function follow(address, handlers, onState) {
  const source = new EventSource(address);
  source.onopen = () => onState("live");
  source.onerror = () => onState(source.readyState === EventSource.CLOSED ? "closed" : "reconnecting");
  for (const [kind, handler] of Object.entries(handlers)) {
    source.addEventListener(kind, (event) => handler(JSON.parse(event.data)));
  }
  addEventListener("pagehide", () => source.close());
  return source;
}
