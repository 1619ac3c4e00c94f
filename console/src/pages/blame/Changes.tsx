import { Link } from "wouter";
import { changesAround, withoutMark } from "../../logic/cause";
import { plural } from "../../ui/format";
import type { PromptChange } from "./query";
import styles from "./Blame.module.css";

/** The changes between the two prompts, by sentence. Those in `focus` stand out, with the words that the check looks for. */
export function Changes({ agentId, good, bad, changes, focus }: { agentId: string; good: number; bad: number; changes: readonly PromptChange[]; focus: readonly PromptChange[] }) {
  const shown = changesAround(changes, focus);
  return (
    <section className={`card ${styles.column}`} aria-labelledby="changes-title">
      <header>
        <h2 id="changes-title">
          Prompt, v{good} to v{bad}
        </h2>
        <Link className="push small" href={`/agents/${agentId}/versions?from=${good}&to=${bad}`}>
          {changes.length === 1 ? "Both prompts" : `All ${plural(changes.length, "change")}`}
        </Link>
      </header>
      <ul className={styles.prompt}>
        {shown.map((change, i) => (
          <li key={change.number}>
            {change.section && !isHeading(change) && !isUnder(change.section, shown[i - 1]) && <p className={styles.gap}>{change.section}</p>}
            <Change change={change} isFocused={focus.some(({ number }) => number === change.number)} />
          </li>
        ))}
      </ul>
      {focus.length > 0 && <Explanation focus={focus} />}
    </section>
  );
}

function isHeading({ before, after }: PromptChange): boolean {
  return [before, after].some((text) => text?.startsWith("#"));
}

/** Whether the preceding change is in the section, or is its heading. */
function isUnder(section: string, before: PromptChange | undefined): boolean {
  return (before?.section === section && !isHeading(before)) || [before?.before, before?.after].some((text) => text?.replace(/^#+\s*/, "") === section);
}

/** Whether the sentence in focus was moved, and the words that the check looks for. */
function Explanation({ focus }: { focus: readonly PromptChange[] }) {
  const needed = [...new Set(focus.flatMap((change) => change.needed ?? []))];
  const isMoved = focus.length === 1 && focus[0]!.before !== undefined && focus[0]!.before === focus[0]!.after;
  const parts = [isMoved && "It was moved to another place.", needed.length > 0 && `The check looks for “${needed.join("”, “")}”.`].filter(Boolean);
  if (parts.length === 0) return null;
  return <p className={styles.gap}>{parts.join(" ")}</p>;
}

function Change({ change, isFocused }: { change: PromptChange; isFocused: boolean }) {
  if (change.before === undefined && change.after === undefined) {
    return <p className={isFocused ? styles.culprit : styles.hidden}>Change {change.number}</p>;
  }
  const lines = (
    <>
      {change.before !== null && <Line sign="−" name="removed" pieces={change.beforePieces ?? []} isRewritten={change.after !== null} />}
      {change.after !== null && <Line sign="+" name="added" pieces={change.afterPieces ?? []} isRewritten={change.before !== null} />}
    </>
  );
  return isFocused ? <div className={styles.culprit}>{lines}</div> : lines;
}

/** A sentence of one of the prompts. In a rewritten one, the words that changed are underlined. */
function Line({ sign, name, pieces, isRewritten }: { sign: string; name: "removed" | "added"; pieces: NonNullable<PromptChange["beforePieces"]>; isRewritten: boolean }) {
  const Changed = name === "removed" ? "del" : "ins";
  return (
    <p className={styles.line} data-side={name}>
      <span aria-hidden="true">{sign}</span>
      <span dir="auto">
        <span className="unseen">{name}: </span>
        {pieces.map(({ text, isChanged, isNeeded }, i) => {
          const shown = i === 0 ? withoutMark(text) : text;
          if (isNeeded) return <mark key={i}>{shown}</mark>;
          return isChanged && isRewritten ? <Changed key={i}>{shown}</Changed> : <span key={i}>{shown}</span>;
        })}
      </span>
    </p>
  );
}
