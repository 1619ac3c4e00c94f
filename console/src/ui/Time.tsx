import { useSyncExternalStore } from "react";
import { exactTime, relativeTime } from "../logic/times";

/** A moment as the time since then: "2 min ago". Hovering shows the exact local time. */
export function Time({ at }: { at: string }) {
  const minute = useSyncExternalStore(eachMinute, () => Math.floor(Date.now() / 60_000));
  return (
    <time dateTime={at} title={exactTime(at)} className="nowrap">
      {relativeTime(at, Math.max(Date.now(), minute * 60_000))}
    </time>
  );
}

function eachMinute(changed: () => void): () => void {
  const timer = setInterval(changed, 60_000);
  return () => clearInterval(timer);
}
