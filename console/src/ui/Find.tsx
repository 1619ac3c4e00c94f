import { Icon } from "./Icon";
import styles from "./Find.module.css";

/** A search field. The key "/" focuses it. */
export function Find({ label, value, set }: { label: string; value?: string; set: (text: string) => void }) {
  return (
    <span className={styles.find}>
      <Icon name="search" />
      <input type="search" aria-label={label} placeholder={label} value={value} onChange={(event) => set(event.target.value)} />
    </span>
  );
}
