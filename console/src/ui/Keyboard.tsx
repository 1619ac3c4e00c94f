import { lazy, Suspense, useEffect, useEffectEvent, useRef, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { actionOf, patience } from "../logic/keys";
import { isMac, useKeys } from "./singleKeys";
import { Icon } from "./Icon";
import styles from "./Shell.module.css";

const Palette = lazy(() => import("./Palette"));
const KeysHelp = lazy(() => import("./KeysHelp"));

type Shown = "palette" | "help" | undefined;

let shown: Shown;
const listeners = new Set<() => void>();

function show(next: Shown): void {
  shown = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Opens the list of keys. */
export function openHelp(): void {
  show("help");
}

/** A button that opens the list of places. `isSmall` shows its icon only. */
export function Keyboard({ isSmall = false }: { isSmall?: boolean }) {
  return (
    <button
      type="button"
      className={isSmall ? "quiet only" : styles.goto}
      aria-label={isSmall ? "Search" : undefined}
      title="Search pages, agents and more"
      aria-keyshortcuts="Control+K Meta+K"
      aria-haspopup="dialog"
      onClick={() => openPalette()}
    >
      <Icon name="search" />
      {!isSmall && (
        <>
          Search <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
        </>
      )}
    </button>
  );
}

let openPalette = () => show("palette");

/** The keys that work on every page, and the dialogs that they open. */
export function KeyboardDialogs() {
  const now = useSyncExternalStore(listen, () => shown);
  const [, go] = useLocation();
  const sinceG = useRef(-Infinity);
  useKeys((key, event) => {
    const action = actionOf(key, event.timeStamp - sinceG.current < patience);
    sinceG.current = action === "wait" ? event.timeStamp : -Infinity;
    if (action === "help") show("help");
    else if (action === "filter") focusFilter(event);
    else if (typeof action === "object") go(action.go);
  });
  const typeAhead = useTypeAhead(() => show(undefined));
  const open = useEffectEvent(() => {
    typeAhead.begin();
    show("palette");
  });
  const close = () => {
    typeAhead.end();
    show(undefined);
  };
  usePaletteKey(() => (now === "palette" ? close() : openPalette()));
  useEffect(() => {
    openPalette = () => open();
    return () => show(undefined);
  }, []);
  return (
    <Suspense>
      {now === "palette" && <Palette onOpened={typeAhead.end} onClose={close} onHelp={() => show("help")} />}
      {now === "help" && <KeysHelp onClose={close} />}
    </Suspense>
  );
}

/**
 * Collects typed text while the palette loads. Until `end`, which returns the text, no letter is a command or goes into a
 * field. Escape calls `giveUp`.
 */
function useTypeAhead(giveUp: () => void): { begin: () => void; end: () => string } {
  /** Undefined while not collecting. */
  const typed = useRef<string>(undefined);
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (typed.current === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.length === 1) typed.current += event.key;
    else if (event.key === "Backspace") typed.current = typed.current.slice(0, -1);
    else if (event.key === "Escape") {
      typed.current = undefined;
      giveUp();
    } else if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
  });
  useEffect(() => {
    document.addEventListener("keydown", onKey, true);
    return () => document.removeEventListener("keydown", onKey, true);
  }, []);
  return {
    begin: () => {
      typed.current = "";
    },
    end: () => {
      const text = typed.current ?? "";
      typed.current = undefined;
      return text;
    },
  };
}

function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLElement>("main input[type=search]");
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}

/** Ctrl-K or Cmd-K works in fields too, but not over other dialogs. */
function usePaletteKey(toggle: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== "k" || !(isMac ? event.metaKey : event.ctrlKey) || event.shiftKey || event.altKey) return;
    if (document.querySelector("dialog[open]:not([data-palette])")) return;
    event.preventDefault();
    toggle();
  });
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
