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
  usePaletteKey(() => setShown((old) => (old === "palette" ? undefined : "palette")));
  const close = () => setShown(undefined);
  return (
    <>
      <button
        type="button"
        className={styles.goto}
        aria-label="Go to…"
        title="Go to a page, an agent or something else by its name"
        aria-keyshortcuts="Control+K Meta+K"
        aria-haspopup="dialog"
        onClick={() => setShown("palette")}
      >
        <span aria-hidden="true">⌕</span> <span className={styles.gotoText}>Go to…</span> <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <Suspense>
        {shown === "palette" && <Palette onClose={close} onHelp={() => setShown("help")} />}
        {shown === "help" && <KeysHelp onClose={close} />}
      </Suspense>
    </>
  );
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
