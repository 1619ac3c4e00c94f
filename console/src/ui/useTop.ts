import { useEffect, useRef } from "react";
import { useSearch } from "wouter";

/**
 * Scrolls a new page, or the next page of a list, to its top, except after back or forward: then the browser restores
 * the position.
 */
export function useTop(path: string): void {
  const search = useSearch();
  const page = path + /(after|before)=[^&]*/.exec(search)?.[0];
  const before = useRef(page);
  const isRestored = useRef(false);
  useEffect(() => {
    const restore = () => (isRestored.current = true);
    addEventListener("popstate", restore);
    return () => removeEventListener("popstate", restore);
  }, []);
  useEffect(() => {
    if (before.current !== page && !isRestored.current) scrollTo(0, 0);
    before.current = page;
    isRestored.current = false;
  }, [page, search]);
}
