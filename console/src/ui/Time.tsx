import { shortTime } from "./format";

/** A moment in local time. Hovering shows it in UTC. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={`${at.replace("T", " ").replace(/\.\d+Z|Z/, "")} UTC`} className="nowrap">
      {shortTime(at)}
    </time>
  );
}
