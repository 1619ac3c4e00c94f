import { lazy, Suspense, useEffect, useEffectEvent, useRef, useState } from "react";
import { useLocation } from "wouter";
import { actionOf, patience } from "../logic/keys";
import { isMac, useKeys } from "./singleKeys";
import styles from "./Shell.module.css";

const Palette = lazy(() => import("./Palette"));
const KeysHelp = lazy(() => import("./KeysHelp"));

/** The keys that work on every page, and a button that opens the list of places. */
export function Keyboard() {
  const [shown, setShown] = useState<"palette" | "help">();
  const [, go] = useLocation();
  const sinceG = useRef(-Infinity);
  useKeys((key, event) => {
    const action = actionOf(key, event.timeStamp - sinceG.current < patience);
    sinceG.current = action === "wait" ? event.timeStamp : -Infinity;
    if (action === "help") setShown("help");
    else if (action === "filter") focusFilter(event);
    else if (typeof action === "object") go(action.go);
  });
  const typeAhead = useTypeAhead(() => setShown(undefined));
  const open = () => {
    typeAhead.begin();
    setShown("palette");
  };
  const close = () => {
    typeAhead.end();
    setShown(undefined);
  };
  usePaletteKey(() => (shown === "palette" ? close() : open()));
  return (
    <>
      <button
        type="button"
        className={styles.goto}
        aria-label="Go to…"
        title="Search pages, agents and more"
        aria-keyshortcuts="Control+K Meta+K"
        aria-haspopup="dialog"
        onClick={open}
      >
        <span aria-hidden="true">⌕</span> <span className={styles.gotoText}>Go to…</span> <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <Suspense>
        {shown === "palette" && <Palette onOpened={typeAhead.end} onClose={close} onHelp={() => setShown("help")} />}
        {shown === "help" && <KeysHelp onClose={close} />}
      </Suspense>
    </>
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
