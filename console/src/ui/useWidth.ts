import { useEffect, useRef, useState, type RefObject } from "react";

/** The width of an element in pixels, for drawings whose text keeps its size. */
export function useWidth<E extends HTMLElement>(first: number): [ref: RefObject<E | null>, width: number] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
