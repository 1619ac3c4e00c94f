/** The properties of an element's style that are written into the file. */
const properties = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "font", "letter-spacing", "text-anchor"];

/** Saves a drawing as an SVG file that looks the same without the page's style sheets. */
export function saveDrawing(svg: SVGSVGElement, { width, height }: { width: number; height: number }, name: string): void {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [[...svg.querySelectorAll("*")], [...copy.querySelectorAll("*")]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const property of properties) to[i]?.setAttribute(property, style.getPropertyValue(property));
  });
  copy.querySelector("g")?.setAttribute("transform", "");
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
