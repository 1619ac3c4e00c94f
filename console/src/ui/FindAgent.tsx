import { useState } from "react";
import { Find } from "./Find";
import { plural } from "./format";

/** A search field for a list that has only the newest hundred agents. It appears once there are more. */
export function FindAgent({ hasMore, text, found, set }: {
  /** Undefined until the list is read. */
  hasMore: boolean | undefined;
  text: string;
  /** How many agents match the text. */
  found: number | undefined;
  set: (text: string) => void;
}) {
  const [isShown, show] = useState(false);
  if (hasMore && !isShown) show(true);
  if (!isShown) return null;
  return (
    // Enter must not send a form around the field.
    <span className="row tight" onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}>
      <Find label="Find an agent" value={text} set={set} />
      <span className="muted small nowrap" role="status">
        {text && found !== undefined && `${plural(found, "agent")} found`}
      </span>
    </span>
  );
}
