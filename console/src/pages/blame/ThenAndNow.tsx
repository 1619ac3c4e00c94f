import { Link } from "wouter";
import { messagesAt } from "../../logic/cause";
import { quotedPieces } from "../../logic/quotes";
import { Icon } from "../../ui/Icon";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import type { Blame, BlamedRun } from "./query";
import styles from "./Blame.module.css";

/** The last run that passed beside the newest that failed, from their first difference on, with the checks that differ. */
export function ThenAndNow({ blame }: { blame: Blame }) {
  const { goodRun, badRun, partsAt } = blame;
  return (
    <section className={`card ${styles.wide}`} aria-labelledby="then-title">
      <header>
        <h2 id="then-title">Passed and failed run</h2>
        <Link className="push small" href={`/runs/${goodRun.id}?with=${badRun.id}`}>
          {partsAt === null ? "The conversations are the same" : `The runs differ from message ${partsAt} on`}
        </Link>
      </header>
      <div className={styles.thennow}>
        <Side run={goodRun} other={badRun} version={blame.goodVersion} partsAt={partsAt} />
        <Side run={badRun} other={goodRun} version={blame.badVersion} partsAt={partsAt} />
      </div>
    </section>
  );
}

function Side({ run, other, version, partsAt }: { run: BlamedRun; other: BlamedRun; version: number; partsAt: number | null }) {
  const verdicts = verdictsOf(run);
  const before = new Map(verdictsOf(other).map(({ expected, passed }) => [expected, passed]));
  const differing = verdicts.filter(({ expected, passed }) => before.get(expected) !== passed);
  const quotes = differing.flatMap(({ passed, evidence }, i) => (passed ? evidence.filter(({ toolCallId }) => !toolCallId).map((e) => ({ ...e, criterion: i + 1 })) : []));
  return (
    <div>
      <h3>
        <Status of={run.status} />
        <span>
          v{version}, <Time at={run.createdAt} />
        </span>
      </h3>
      {messagesAt(run.messages ?? [], partsAt).map(({ index, message }) => (
        <p key={index} className={message.role === "user" ? styles.me : styles.them}>
          <span className="unseen">{message.role === "user" ? "contact" : "agent"}: </span>
          {quotedPieces(
            message.text,
            quotes.filter(({ messageIndex }) => messageIndex === index).map(({ criterion, quote }) => ({ criterion, text: quote })),
          ).map((piece, i) => (piece.criteria.length > 0 ? <mark key={i}>{piece.text}</mark> : piece.text))}
        </p>
      ))}
      {differing.map(({ expected, passed }) => (
        <p key={expected} className={styles.check} data-passed={passed}>
          <Icon name={passed ? "check" : "close"} />
          <span className="unseen">{passed ? "holds: " : "does not hold: "}</span>
          {expected}
        </p>
      ))}
    </div>
  );
}

interface Verdict {
  expected: string;
  passed: boolean;
  evidence: readonly { messageIndex: number; quote: string; toolCallId: string | null }[];
}

/** The verdicts of a run that apply to it: its checks, its criteria and its tag. */
function verdictsOf({ checkResults = [], criteriaResults = [], classificationResult: tag }: BlamedRun): Verdict[] {
  return [
    ...checkResults,
    ...criteriaResults.filter(({ applies }) => applies),
    ...(tag ? [{ expected: `is tagged ${tag.tagExpected}`, passed: tag.passed, evidence: [] }] : []),
  ];
}
