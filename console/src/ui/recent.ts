import { useEffect } from "react";
import { useLocation, useSearch } from "wouter";
import { visited, type Place } from "../logic/keys";

const name = "agentgraph:recent";

/** The pages that this tab visited last, the last one first. */
export function recent(): Place[] {
  return JSON.parse(sessionStorage.getItem(name) ?? "[]") as Place[];
}

/** Remembers the page as visited, unless it is one of the sections. */
export function useRecent(text: string, isSection: boolean): void {
  const [location] = useLocation();
  const search = useSearch();
  useEffect(() => {
    if (isSection) return;
    const to = location.startsWith("/tests") || location.startsWith("/compare") ? `${location}?${search}` : location;
    sessionStorage.setItem(name, JSON.stringify(visited(recent(), { to, text })));
  }, [location, search, text, isSection]);
}
