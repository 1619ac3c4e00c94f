import { testsText } from "./format";
import styles from "./Cells.module.css";

/** From this many tests on, cells become a bar. */
const most = 12;

/** How many tests pass, fail, end in an error, or never ran: a cell for each or, for many, a bar. Red comes first. */
export function Cells({ passed, failed, error, other }: { passed: number; failed: number; error: number; other: number }) {
  const parts = [["failed", failed], ["error", error], ["passed", passed], ["queued", other]] as const;
  const total = passed + failed + error + other;
  const label = testsText(passed, failed, error, total);
  if (total > most) {
    let x = 0;
    return (
      <svg className={`meter ${styles.bar}`} viewBox={`0 0 ${total} 1`} preserveAspectRatio="none" role="img" aria-label={label}>
        {parts.map(([state, n]) => (n > 0 && state !== "queued" ? <rect key={state} data-s={state} x={(x += n) - n} width={n} height="1" /> : null))}
      </svg>
    );
  }
  return (
    <span className={styles.cells} role="img" aria-label={label}>
      {parts.flatMap(([state, n]) => Array.from({ length: n }, (_, i) => <i key={`${state}${i}`} data-s={state} />))}
    </span>
  );
}
