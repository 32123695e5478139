import type { RequestListener } from "node:http";

/**
 * Begins a request once the response before it on its connection is taken. Clients may send requests without waiting for
 * responses (RFC 9112 §9.3.2); Node would run them all at once and keep what they come to.
 */
export const oneByOne =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    if (response.socket) listener(request, response);
    else response.once("socket", () => listener(request, response));
  };
