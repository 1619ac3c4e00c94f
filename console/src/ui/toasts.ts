export interface Toast {
  id: number;
  text: string;
  /** Errors stay until they are closed. */
  isError: boolean;
  undo?: () => void;
}

/** How long a message shows, in milliseconds. */
const shown = 5_000;

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

/** Shows a message at the bottom of the window for five seconds. `undo` adds a button that calls it. */
export function toast(text: string, { undo, isError = false }: { undo?: () => void; isError?: boolean } = {}): void {
  const id = ++last;
  change([...toasts.slice(-2), { id, text, isError, undo }]);
  if (!isError) setTimeout(() => dismiss(id), shown);
}

export function dismiss(id: number): void {
  change(toasts.filter((each) => each.id !== id));
}

export function shownToasts(): readonly Toast[] {
  return toasts;
}

export function onToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}
