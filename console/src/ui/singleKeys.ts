import { useEffect, useEffectEvent } from "react";
import { expectsText } from "../logic/keys";

export const isMac = navigator.platform.startsWith("Mac");

const setting = "agentgraph:keys";

/** Whether single letters are commands. Users can switch them off. */
export function areKeysOn(): boolean {
  return localStorage.getItem(setting) !== "off";
}

export function switchKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(setting);
  else localStorage.setItem(setting, "off");
}

/**
 * Calls back for each key that nothing else handles: no field has the focus, no dialog is open, and the page is not a
 * chat.
 */
export function useKeys(onKey: (key: string, event: KeyboardEvent) => void): void {
  const receive = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !areKeysOn()) return;
    if (document.querySelector("dialog[open]") || expectsText(window.location.pathname)) return;
    if (event.target instanceof HTMLElement && event.target.closest("input, textarea, select, [contenteditable]")) return;
    onKey(event.key, event);
  });
  useEffect(() => {
    document.addEventListener("keydown", receive);
    return () => document.removeEventListener("keydown", receive);
  }, []);
}
