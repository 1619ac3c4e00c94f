import { useRef } from "react";
import { Icon } from "./Icon";
import styles from "./Pick.module.css";

/** A filter that shows its name and its value on one button: "Channel Any". The values are pairs of value and text. */
export function Pick({ label, shown = label, options, value, set, disabled, title }: {
  label: string;
  /** The name on the button, if it is shorter than the label. */
  shown?: string;
  options: readonly (readonly [value: string, text: string])[];
  value: string;
  set: (value: string) => void;
  disabled?: boolean;
  title?: string;
}) {
  const select = useRef<HTMLSelectElement>(null);
  return (
    <span className={styles.pick} title={title}>
      <span aria-hidden="true" onClick={() => !disabled && select.current?.showPicker()}>
        {shown}
      </span>
      <select ref={select} aria-label={label} value={value} disabled={disabled} onChange={(event) => set(event.target.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </span>
  );
}
