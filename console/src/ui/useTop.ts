import { useEffect, useRef } from "react";

/** Shows a page from its top, unless the browser goes back or forward to it: then it restores where it was. */
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
