import { useState } from "react";
import { sectionKeys } from "../logic/keys";
import { Dialog } from "./Dialog";
import { areKeysOn, isMac, switchKeys } from "./singleKeys";
import styles from "./KeysHelp.module.css";
import { accountSections, sections } from "./sections";

const control = isMac ? "⌘" : "Ctrl";

const others: [keys: string[], effect: string][] = [
  [[control, "K"], "Search pages, agents and more"],
  [["/"], "Focus the filter of a list"],
  [["j"], "On a run: next failed run"],
  [["k"], "On a run: previous failed run"],
  [["y", "n", "s"], "When marking verdicts: yes, no, skip"],
  [["← ↑ ↓ →"], "Move between cells of tests"],
  [[control, "S"], "Save the prompt"],
  [[control, "Enter"], "In the explorer: run"],
  [["?"], "This list"],
];

/** A dialog that lists the keys, and switches those that are single letters off. */
export default function KeysHelp({ onClose }: { onClose: () => void }) {
  const [isOn, setOn] = useState(areKeysOn);
  const nameOf = (path: string) => [...sections, ...accountSections].find(([section]) => `/${section}` === path)?.[1];
  return (
    <Dialog title="Keys" isWide onClose={onClose}>
      <div className="stack">
        <dl className={styles.keys}>
          {others.map(([keys, effect]) => (
            <Line key={effect} keys={keys} effect={effect} />
          ))}
          {Object.entries(sectionKeys).map(([letter, path]) => (
            <Line key={letter} keys={["g", letter]} effect={nameOf(path) ?? path} />
          ))}
        </dl>
        <label className="check">
          <input
            type="checkbox"
            checked={isOn}
            onChange={(event) => {
              switchKeys(event.target.checked);
              setOn(event.target.checked);
            }}
          />
          Single-letter shortcuts in this browser, except on chat pages
        </label>
      </div>
    </Dialog>
  );
}

function Line({ keys, effect }: { keys: string[]; effect: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{effect}</dd>
    </div>
  );
}
