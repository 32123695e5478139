// Starts Swagger UI. The page carries the CSRF token of a signed-in user.
const csrfToken = document.querySelector("meta[name=csrf-token]")?.content;

const dark = matchMedia("(prefers-color-scheme: dark)");
const followColorScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followColorScheme);
followColorScheme();

/** Tries requests out where the page came from, which may not be the access URL. */
const show = (description) =>
  SwaggerUIBundle({
    spec: { ...description, servers: [{ url: location.origin }] },
    dom_id: "#root",
    deepLinking: true,
    // The list of schemas is long: it opens with a click.
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    requestInterceptor(request) {
      if (csrfToken) request.headers["X-CSRF-Token"] = csrfToken;
      return request;
    },
    // The curl command is for use outside the browser, where the CSRF token means nothing.
    showMutatedRequest: false,
  });
void fetch("/openapi.json")
  .then((response) => response.json())
  .then(show);
