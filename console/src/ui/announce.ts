let region: HTMLElement | null = null;
let waiting: string[] = [];

/** The element that `announce` writes to: a live region that exists before its first text. */
export function announceIn(element: HTMLElement | null): void {
  region = element;
}

/** Says the text to screen readers, once. Texts of the same moment are said together. */
export function announce(text: string): void {
  waiting.push(text);
  if (waiting.length > 1) return;
  if (region) region.textContent = "";
  // Screen readers notice a text only in a region that they have seen empty.
  setTimeout(() => {
    if (region) region.textContent = waiting.join(". ");
    waiting = [];
  }, 150);
}
