import font from "../../ui/inter-latin1.woff2?url";

/** The properties of an element's style that are written into the file. */
const properties = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "font-family", "font-size", "font-weight", "letter-spacing", "text-anchor"];

/** The attributes that only the page needs. */
const unneeded = ["class", "role", "tabindex", "aria-pressed", "data-s", "data-lit", "data-near", "data-hue"];

/** The space around the drawing, in pixels. */
const margin = 16;

/** Saves a drawing as an SVG file that looks as it does on the page: with its styles, background and font. */
export async function saveDrawing(svg: SVGSVGElement, name: string): Promise<void> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [[...svg.querySelectorAll("*")], [...copy.querySelectorAll("*")]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const property of properties) to[i]?.setAttribute(property, style.getPropertyValue(property));
    for (const attribute of unneeded) to[i]?.removeAttribute(attribute);
  });
  const { x, y, width, height } = svg.querySelector<SVGGElement>(":scope > g")?.getBBox() ?? { x: 0, y: 0, width: 0, height: 0 };
  const frame = { x: x - margin, y: y - margin, width: width + 2 * margin, height: height + 2 * margin };
  const background = document.createElementNS(svg.namespaceURI, "rect");
  for (const [key, value] of Object.entries(frame)) background.setAttribute(key, String(value));
  background.setAttribute("fill", getComputedStyle(svg.parentElement ?? svg).backgroundColor);
  copy.querySelector(":scope > g")?.removeAttribute("transform");
  copy.prepend(await fontFace(), background);
  copy.removeAttribute("class");
  copy.setAttribute("role", "img");
  copy.setAttribute("viewBox", Object.values(frame).join(" "));
  copy.setAttribute("width", String(frame.width));
  copy.setAttribute("height", String(frame.height));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A style element that contains the console's font, or an empty one if the font cannot be read. */
async function fontFace(): Promise<Element> {
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  const response = await fetch(font).catch(() => undefined);
  if (!response?.ok) return style;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  style.textContent = `@font-face{font-family:"Inter Console";font-weight:400 650;src:url(data:font/woff2;base64,${base64}) format("woff2")}`;
  return style;
}
