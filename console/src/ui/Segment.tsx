import styles from "./Segment.module.css";

/** A row of buttons for views of the same data. One of them is chosen. */
export function Segment<Value extends string>({ label, options, value, set }: {
  label: string;
  options: readonly (readonly [value: Value, text: string])[];
  value: Value;
  set: (value: Value) => void;
}) {
  return (
    <span className={styles.segment} role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => set(each)}>
          {text}
        </button>
      ))}
    </span>
  );
}
