import { useMemo } from "react";
import { promptDiff } from "../logic/promptDiff";
import styles from "./Diff.module.css";

const elements = { same: "span", gone: "del", new: "ins" } as const;

/** Two texts as one, with removed and added words marked. */
export default function Diff({ from, to }: { from: string; to: string }) {
  const pieces = useMemo(() => promptDiff(from, to), [from, to]);
  if (pieces.every((piece) => piece.kind === "same")) return <p className="muted">No differences.</p>;
  return (
    <div className={styles.text}>
      {pieces.map((piece, i) => {
        const Element = elements[piece.kind];
        return <Element key={i}>{piece.text}</Element>;
      })}
    </div>
  );
}
