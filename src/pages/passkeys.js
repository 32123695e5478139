// Forms that send a passkey. Browsers use passkeys by scripts alone: without this one, such forms stay hidden.
(() => {
  const { browserSupportsWebAuthn, startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser;
  if (!browserSupportsWebAuthn()) return;

  /** Asks the server for the options of a sign-in without a password, as a visitor. */
  async function ask() {
    const response = await fetch("/graphql", {
      method: "POST",
      credentials: "omit",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: "mutation { beginPasskeyLogin(input: {}) { options } }" }),
    });
    const { data, errors } = await response.json();
    if (errors) throw new Error(errors[0].message);
    return data.beginPasskeyLogin.options;
  }

  const optionsFor = (form) => (form.dataset.passkey === "ask" ? ask() : JSON.parse(form.dataset.options));

  for (const note of document.querySelectorAll("[data-without-passkeys]")) note.hidden = true;

  /** Lets the browser make or use a passkey, and sends the form with it. */
  async function send(form) {
    const button = form.querySelector("button");
    const fault = form.querySelector(".alarm");
    button.disabled = true;
    fault.hidden = true;
    try {
      const start = form.dataset.passkey === "create" ? startRegistration : startAuthentication;
      const credential = await start({ optionsJSON: await optionsFor(form) });
      form.elements.passkey.value = JSON.stringify(credential);
      // The page asks once, in its other form.
      if (form.elements.remember && document.querySelector("[name=remember]:checked"))
        form.elements.remember.value = "yes";
      form.submit();
    } catch (error) {
      fault.textContent = error.name === "NotAllowedError" ? "That was canceled, or took too long." : error.message;
      fault.hidden = false;
    } finally {
      button.disabled = false;
    }
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void send(form);
    });
  }
})();
