import { useEffect, useRef, useState, type PointerEvent, type RefObject } from "react";

export interface View {
  x: number;
  y: number;
  scale: number;
}

const [least, most] = [0.2, 3];
const margin = 24;
/** The height that the bar at the bottom takes. */
const bottom = 64;

/** The part of a drawing that shows: it is moved by dragging, and made larger by the wheel and by buttons. */
export function useView(drawing: { width: number; height: number }): {
  board: RefObject<HTMLDivElement | null>;
  /** The bar above the drawing, which wraps in narrow windows. */
  bar: RefObject<HTMLDivElement | null>;
  view: View;
  zoom: (factor: number) => void;
  fit: () => void;
  center: (x: number, y: number) => void;
  drag: { onPointerDown: (event: PointerEvent) => void; onPointerMove: (event: PointerEvent) => void; onPointerUp: () => void };
} {
  const board = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const grabbed = useRef<{ x: number; y: number }>(undefined);
  const { width, height } = drawing;
  const fit = () => {
    const element = board.current;
    if (!element) return;
    const top = (bar.current?.offsetTop ?? 0) + (bar.current?.offsetHeight ?? 0);
    const [w, h] = [element.clientWidth, element.clientHeight - top - bottom];
    const scale = Math.max(least, Math.min(1, (w - margin) / width, h / height));
    setView({ scale, x: (w - width * scale) / 2, y: top + Math.max(0, (h - height * scale) / 2) });
  };
  const zoomAt = (factor: number, x: number, y: number) =>
    setView((old) => {
      const scale = Math.min(most, Math.max(least, old.scale * factor));
      const by = scale / old.scale;
      return { scale, x: x - (x - old.x) * by, y: y - (y - old.y) * by };
    });
  useEffect(() => {
    fit();
    const element = board.current;
    if (!element) return;
    // React's own wheel listeners cannot prevent scrolling.
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const frame = element.getBoundingClientRect();
      zoomAt(Math.exp(-event.deltaY / 400), event.clientX - frame.left, event.clientY - frame.top);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    let fitted = innerWidth;
    const onResize = () => {
      if (fitted === innerWidth) return; // a phone hides its address bar
      fitted = innerWidth;
      fit();
    };
    addEventListener("resize", onResize);
    return () => {
      element.removeEventListener("wheel", onWheel);
      removeEventListener("resize", onResize);
    };
  }, [width, height]);
  return {
    board,
    bar,
    view,
    zoom: (factor) => zoomAt(factor, (board.current?.clientWidth ?? 0) / 2, (board.current?.clientHeight ?? 0) / 2),
    fit,
    center: (x, y) => setView(({ scale }) => ({ scale, x: (board.current?.clientWidth ?? 0) / 2 - x * scale, y: (board.current?.clientHeight ?? 0) / 2 - y * scale })),
    drag: {
      onPointerDown: (event) => {
        if ((event.target as Element).closest("[role=button], button, input, select, a")) return;
        grabbed.current = { x: event.clientX, y: event.clientY };
      },
      onPointerMove: (event) => {
        const from = grabbed.current;
        if (!from || event.buttons === 0) return;
        grabbed.current = { x: event.clientX, y: event.clientY };
        setView((old) => ({ ...old, x: old.x + event.clientX - from.x, y: old.y + event.clientY - from.y }));
      },
      onPointerUp: () => {
        grabbed.current = undefined;
      },
    },
  };
}
