import { useEffect, useRef, type RefObject } from "react";

/** Scrolls a row of links sideways until the current page's link is visible. */
export function useCurrentInView(current: string): RefObject<HTMLElement | null> {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const show = () => {
      const link = row.current?.querySelector<HTMLElement>("[aria-current]");
      if (!row.current || !link) return;
      const from = link.getBoundingClientRect().left - row.current.getBoundingClientRect().left;
      row.current.scrollLeft += from - (row.current.clientWidth - link.offsetWidth) / 2;
    };
    show();
    addEventListener("resize", show);
    return () => removeEventListener("resize", show);
  }, [current]);
  return row;
}
