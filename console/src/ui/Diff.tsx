import { useMemo, useState } from "react";
import { hideUnchanged, promptDiff } from "../logic/promptDiff";
import styles from "./Diff.module.css";
import { plural } from "./format";

/** Two texts as one, with removed and added words marked. Unchanged lines far from a change are hidden until asked for. */
export default function Diff({ from, to }: { from: string; to: string }) {
  const pieces = useMemo(() => promptDiff(from, to), [from, to]);
  if (pieces.every((piece) => piece.kind === "same")) return <p className="muted">No differences.</p>;
  return (
    <div dir="auto" className={styles.text}>
      {pieces.map(({ kind, text }, i) => {
        if (kind === "same") return <Unchanged key={i} text={text} isFirst={i === 0} isLast={i === pieces.length - 1} />;
        return kind === "new" ? <ins key={i}>{text}</ins> : <del key={i}>{text}</del>;
      })}
    </div>
  );
}

function Unchanged({ text, isFirst, isLast }: { text: string; isFirst: boolean; isLast: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { before, hidden, lines, after } = hideUnchanged(text, isFirst, isLast);
  if (isOpen || lines === 0) return <span>{text}</span>;
  return (
    <>
      {before && <span>{before}</span>}
      <button type="button" className="quiet" title={hidden.slice(0, 200)} onClick={() => setOpen(true)}>
        Show {plural(lines, "unchanged line")}
      </button>
      {"\n"}
      {after && <span>{after}</span>}
    </>
  );
}
