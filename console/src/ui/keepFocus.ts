import { announce } from "./announce";

/** Where an element was: its ancestors, from the inside out, each with the index of the child that contained it. */
type Path = readonly { parent: Element; index: number }[];

/** The element that had the focus last, outside dialogs. */
let last: { element: HTMLElement; words: string; path: Path; nav: string | null | undefined } | undefined;

/** When that element lost the focus because it was removed or disabled. */
let lostAt: number | undefined;

/** The element that has the focus instead. */
let substitute: HTMLElement | undefined;

/** How long a removed element, and a disabled one, may take to return before another one gets the focus, in milliseconds. */
const [patience, longPatience] = [250, 2_000];

/** How long the focus goes back to an element that returns, in milliseconds. */
const memory = 10_000;

const focusable = "a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex='0']";

/**
 * Keeps the focus near its place when the element that has it is removed or disabled. The element gets the focus back if
 * it returns, or an equal one takes its place. Otherwise its successor gets the focus: in a list, the next row.
 */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    const element = target as HTMLElement;
    if (element !== substitute && !element.closest("dialog")) remember(element);
  });
  // A key in the substitute says that the user continues there, perhaps writes: it keeps the focus.
  document.addEventListener("keydown", () => substitute && document.activeElement === substitute && remember(substitute), true);
  // A click beside the element leaves it.
  document.addEventListener("pointerdown", ({ target }) => {
    if (!last?.element.contains(target as Node) && !(target as HTMLElement).closest("dialog")) last = undefined;
  });
  new MutationObserver(check).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
}

function remember(element: HTMLElement): void {
  last = { element, words: wordsOf(element), path: pathOf(element), nav: element.closest("main nav")?.getAttribute("aria-label") };
  lostAt = substitute = undefined;
}

/** Focuses the element if an element with the selector has the focus, or had it last and lost it. */
export function claimFocus(element: HTMLElement | null, from: string): void {
  const isLast = last?.element === document.activeElement || isFree();
  if (isLast && last?.element.matches(from)) element?.focus({ preventScroll: true });
}

/** Focuses the title of the page, which says where the user is. */
export function focusTitle(): void {
  document.querySelector<HTMLElement>("main h1")?.focus({ preventScroll: true });
}

/** The name and the address of the page that the user knows of. */
let known: string | undefined;

/** Tells the user that another page is shown: its title gets the focus, or is announced if the focus is in the page. */
export function arrive(page: string, name: string): void {
  if (known === page) return;
  const isFirst = known === undefined;
  known = page;
  if (isFirst || document.querySelector("dialog[open]")) return;
  check();
  const active = document.activeElement;
  if (!isFree() && active?.closest("main")) announce(name);
  else focusTitle();
}

/** Whether nothing has the focus, or only an element that stands in for a lost one. */
function isFree(): boolean {
  const active = document.activeElement;
  return !active || active === document.body || active === substitute || active.id === "main" || active.matches(":disabled");
}

function check(): void {
  if (!last) return;
  const { element } = last;
  const isThere = element.isConnected && !element.matches(":disabled");
  if (lostAt === undefined) {
    if (isThere || !isFree()) return;
    lostAt = Date.now();
    setTimeout(settle, element.isConnected ? longPatience : patience);
  }
  if (!isFree() || Date.now() - lostAt > memory) {
    last = lostAt = undefined;
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  (isThere ? element : equal())?.focus({ preventScroll: true });
}

/** Gives the focus to the successor of the lost element. */
function settle(): void {
  if (lostAt === undefined || !isFree() || document.querySelector("dialog[open]")) return;
  // Until the page has loaded, the element may return.
  if (document.querySelector("main [data-shown]")) {
    setTimeout(settle, patience);
    return;
  }
  substitute = successor();
  substitute?.focus({ preventScroll: true });
}

/** An element like the lost one, as near to its place as possible. On another page, only tabs are alike. */
function equal(): HTMLElement | undefined {
  if (!last?.words) return undefined;
  const { element, words, path, nav } = last;
  const tabs = nav ? [...document.querySelectorAll("main nav")].filter((each) => each.getAttribute("aria-label") === nav) : [];
  let searched: Element | undefined;
  for (const parent of [...path.map((each) => each.parent), ...tabs]) {
    if (!parent.isConnected) continue;
    const others = [...parent.children].filter((child) => child !== searched);
    const found = within(others, element.localName).find((each) => !each.matches(":disabled") && wordsOf(each) === words && each.checkVisibility());
    if (found) return found;
    searched = parent;
  }
  return undefined;
}

/**
 * The next element after the lost one's place that can have the focus, or the last one before it. In a list, the next
 * row's button of the same kind comes first.
 */
function successor(): HTMLElement | undefined {
  const verb = last?.element.firstChild?.textContent;
  for (const { parent, index } of last?.path ?? []) {
    if (!parent.isConnected) continue;
    const children = [...parent.children];
    const isVisible = (each: HTMLElement) => each.checkVisibility();
    const row = verb ? within(children.slice(index, index + 1), focusable) : [];
    const found =
      row.find((each) => each.firstChild?.textContent === verb && isVisible(each)) ??
      within(children.slice(index), focusable).find(isVisible) ??
      within(children.slice(0, index), focusable).findLast(isVisible);
    if (found) return found;
  }
  return document.querySelector<HTMLElement>("main h1") ?? undefined;
}

/** The elements with the selector among some elements and in them. */
function within(elements: Element[], selector: string): HTMLElement[] {
  return elements.flatMap((each) => [...(each.matches(selector) ? [each as HTMLElement] : []), ...each.querySelectorAll<HTMLElement>(selector)]);
}

/** The ancestors of an element, up to its landmark or the list of toasts. */
function pathOf(element: HTMLElement): Path {
  const path = [];
  for (let at: Element = element; at.parentElement && !at.matches("main, aside, [role=status]:not(main *)"); at = at.parentElement) {
    path.push({ parent: at.parentElement, index: [...at.parentElement.children].indexOf(at) });
  }
  return path;
}

function wordsOf(element: HTMLElement): string {
  return element.getAttribute("aria-label") || element.getAttribute("name") || element.textContent || "";
}
