import { useEffect, useRef } from "react";

/** Scrolls a new page to its top, except after back or forward: then the browser restores the position. */
export function useTop(path: string): void {
  const before = useRef(path);
  const isRestored = useRef(false);
  useEffect(() => {
    const restore = () => (isRestored.current = true);
    addEventListener("popstate", restore);
    return () => removeEventListener("popstate", restore);
  }, []);
  useEffect(() => {
    if (before.current !== path && !isRestored.current) scrollTo(0, 0);
    before.current = path;
    isRestored.current = false;
  }, [path]);
}
