// Shows openapi.json with RapiDoc, in the console's colors and for the server that the page came from.
const page = document.querySelector("rapi-doc");

const light = {
  theme: "light", "bg-color": "#ffffff", "text-color": "#17171c", "primary-color": "#4b44d4", "nav-bg-color": "#f5f5f7",
  "nav-text-color": "#5b5b67", "nav-hover-bg-color": "#f0f0f4", "nav-hover-text-color": "#17171c", "nav-accent-color": "#524bdc",
};
const dark = {
  theme: "dark", "bg-color": "#141418", "text-color": "#ededf2", "primary-color": "#8e89ff", "nav-bg-color": "#0c0c0f",
  "nav-text-color": "#a2a2af", "nav-hover-bg-color": "#202027", "nav-hover-text-color": "#ededf2", "nav-accent-color": "#aaa6ff",
};

const isDark = matchMedia("(prefers-color-scheme: dark)");
const isNarrow = matchMedia("(max-width: 767px)");

/** Follows the system's theme. A phone has no room for the menu: it gets a list of operations that unfold. */
function fit() {
  for (const [name, value] of Object.entries(isDark.matches ? dark : light)) page.setAttribute(name, value);
  page.setAttribute("render-style", isNarrow.matches ? "view" : "focused");
}

fit();
isDark.addEventListener("change", fit);
isNarrow.addEventListener("change", fit);

const description = await (await fetch("openapi.json")).json();
// RapiDoc would resolve the relative URL of a server against the host, not against the document.
for (const server of description.servers) server.url = new URL(server.url, location.href).href.replace(/\/$/, "");
delete description.info.license;
// An optional parameter starts empty, because the ids in examples are not ids of the reader's company.
for (const operation of Object.values(description.paths).flatMap((path) => Object.values(path))) {
  for (const parameter of operation.parameters ?? []) if (parameter.in === "query" && !parameter.required) delete parameter.example;
}
await customElements.whenDefined("rapi-doc");
// On a narrow screen, RapiDoc draws the credentials of an operation over its path.
const sheet = new CSSStyleSheet();
sheet.replaceSync(`@media (max-width: 767px) {
  .endpoint-body .summary > [style^="position:absolute"] { position: static !important; }
  .endpoint-body .summary > [style^="position:absolute"] > div { min-width: 0 !important; justify-content: flex-start !important; }
}`);
page.shadowRoot.adoptedStyleSheets = [...page.shadowRoot.adoptedStyleSheets, sheet];
page.loadSpec(description);
