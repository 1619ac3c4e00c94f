import { Link } from "wouter";
import { redSince } from "../../logic/news";
import { Avatar } from "../../ui/Avatar";
import { Icon } from "../../ui/Icon";
import { Glyph } from "../../ui/Status";
import { Strip } from "../../ui/Strip";
import { Time } from "../../ui/Time";
import styles from "../Home.module.css";
import type { RedTest } from "./query";

/** The tests that do not pass, each with a link to its cause. Tests beyond the first `most` are behind a link. */
export function RedTests({ tests, total, most }: { tests: readonly RedTest[]; total: number; most: number }) {
  if (tests.length === 0) return null;
  const rest = total - Math.min(tests.length, most);
  return (
    <ul className={`${styles.card} ${styles.red}`}>
      {tests.slice(0, most).map((test) => (
        <Red key={test.id} test={test} />
      ))}
      {rest > 0 && (
        <li className={styles.rest}>
          <Link href="/tests?view=red">{rest} more</Link>
        </li>
      )}
    </ul>
  );
}

function Red({ test }: { test: RedTest }) {
  const { agent, failingSince: since } = test;
  const { at, hasPassed } = redSince(test);
  return (
    <li>
      <Glyph of={test.lastRunStatus ?? "Failed"} />
      <div className={styles.title}>
        <Link href={test.lastRunId ? `/runs/${test.lastRunId}` : `/tests?agent=${agent.id}&edit=${test.id}`} title={test.name}>
          {test.name}
        </Link>
        <Strip runs={test.history} />
      </div>
      <Cause test={test} />
      <div className={styles.meta}>
        <Avatar agent={agent} size="tiny" />
        <bdi>{agent.name}</bdi>
        <span aria-hidden="true">·</span>
        {!hasPassed ? "never passed" : since ? `red since v${since.promptVersion}` : "passed before"}
        {at > 0 && (
          <>
            <span aria-hidden="true">·</span>
            <Time at={new Date(at).toISOString()} />
          </>
        )}
      </div>
    </li>
  );
}

/** Leads to the change of the prompt that broke the test or, if the prompt did not change, to the run. */
function Cause({ test }: { test: RedTest }) {
  const { failingSince: since } = test;
  const before = since?.lastPassed?.promptVersion;
  const isChanged = since && before !== undefined && before !== since.promptVersion;
  if (!isChanged && !test.lastRunId) return null;
  return (
    <Link className="button" href={isChanged ? `/tests/${test.id}/blame` : `/runs/${test.lastRunId}`}>
      {isChanged ? "See what broke it" : "See the run"}
      <span className="unseen"> for {test.name}</span>
      <Icon name="arrow" />
    </Link>
  );
}
