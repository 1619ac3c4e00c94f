import { useLayoutEffect, useRef } from "react";
import { useSearchParams } from "wouter";
import { announce } from "./announce";

interface PageInfo {
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  startCursor: string | null;
  endCursor: string | null;
}

/** The arguments of a list's query for the page that the address names, with its size. */
export function pageAt(params: URLSearchParams, size: number): { first?: number; after?: string | null; last?: number; before?: string } {
  const before = params.get("before");
  return before ? { last: size, before } : { first: size, after: params.get("after") };
}

/** Buttons for the previous and the next page of a list. The first row of the new page gets the focus. */
export function Pager({ of, size, isOld }: { of: { pageInfo: PageInfo } | undefined; size: number; isOld: boolean }) {
  const [, setParams] = useSearchParams();
  const asked = useRef<string>(undefined);
  useLayoutEffect(() => {
    if (!asked.current || isOld) return;
    announce(`The ${asked.current} ${size} are shown`);
    asked.current = undefined;
    document.querySelector<HTMLElement>("main tbody :is(a, button)")?.focus({ preventScroll: true });
  }, [of, isOld, size]);
  if (!of?.pageInfo.hasNextPage && !of?.pageInfo.hasPreviousPage) return null;
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = of.pageInfo;
  const show = (name: "after" | "before", cursor: string | null, which: string) => {
    asked.current = which;
    setParams((old) => {
      const next = new URLSearchParams(old);
      next.delete("after");
      next.delete("before");
      next.set(name, cursor ?? "");
      return next;
    });
  };
  return (
    <div className="row">
      {hasPreviousPage && (
        <button type="button" disabled={isOld} onClick={() => show("before", startCursor, "previous")}>
          Previous {size}
        </button>
      )}
      {hasNextPage && (
        <button type="button" disabled={isOld} onClick={() => show("after", endCursor, "next")}>
          Next {size}
        </button>
      )}
    </div>
  );
}
