// Requests to the studio's server. Errors have a status: 0 if there was no answer at all.

export class RequestError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Which labels this page means: what is written for others is refused.
let labels = "";

export function meanLabels(version) {
  labels = version;
}

export function imagePath(name, rest = "") {
  return `/api/images/${encodeURIComponent(name)}${rest}`;
}

export async function request(path, options = {}) {
  let answer;
  const headers = options.method ? { ...options.headers, "x-labels": labels } : options.headers;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new RequestError(0, "the studio does not answer");
  }
  if (answer.ok || answer.status === 409) return answer;
  let text = `error ${answer.status}`;
  if (answer.headers.get("content-type")?.startsWith("application/json")) text = (await answer.json()).error ?? text;
  throw new RequestError(answer.status, text);
}

export async function getJson(path) {
  return (await request(path)).json();
}

export async function getBytes(path) {
  const answer = await request(path);
  return { bytes: new Uint8Array(await answer.arrayBuffer()), headers: answer.headers };
}

// Sends something that is done, or is an error: nothing is joined.
export async function command(method, path, data) {
  const answer = await sendJson(method, path, data);
  const found = await answer.json();
  if (answer.status === 409) throw new RequestError(409, found.error);
  return found;
}

export function sendJson(method, path, data, headers = {}) {
  return request(
    path,
    { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(data) },
  );
}

// Packed as zlib does it, which the browser calls "deflate".
export async function pack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

export async function getPicture(path) {
  const answer = await request(path);
  return createImageBitmap(await answer.blob());
}
