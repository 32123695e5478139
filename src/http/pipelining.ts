import type { RequestListener } from "node:http";

/**
 * Starts a request when the previous response on its connection was sent. Clients may send requests without waiting for
 * responses (RFC 9112 §9.3.2); Node would run them concurrently and buffer the responses.
 */
export const oneByOne =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    if (response.socket) listener(request, response);
    else response.once("socket", () => listener(request, response));
  };
