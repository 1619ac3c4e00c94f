import { useState } from "react";
import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { plural } from "../../ui/format";
import { inRow } from "../../logic/rows";
import { Page } from "../../ui/Page";
import { Segment } from "../../ui/Segment";
import { useKeys } from "../../ui/singleKeys";
import { Empty, Failure, Loading } from "../../ui/states";
import { Glyph } from "../../ui/Status";
import { Turn } from "./RunTranscript";
import styles from "./RunTranscript.module.css";
import { asPerson, MarkVerdict, person, setPerson } from "./mark";

const QueueQuery = graphql(`
  query Queue($agentId: ID!, $person: String, $isBlind: Boolean!, $offset: Int!) {
    agent(id: $agentId) { id name }
    criterionQueue(agentId: $agentId, person: $person, isBlind: $isBlind, first: 6, offset: $offset) {
      totalCount
      entries {
        runId criterion expected reason passed applies rationale
        run {
          id testName rowNumber rowName
          messages { role text }
          toolCalls { id kind technicalName arguments result mocked isReal mockRule messageSequence delegationId durationMs error isTurnKept }
          criteriaResults @skip(if: $isBlind) { criterion expected weight passed applies rationale decidedBy agreement evidence { messageIndex quote toolCallId speaker } }
          execution { id repeats status votes judgeModel agent { id name } }
        }
      }
    }
  }
`);

type Entry = NonNullable<ResultOf<typeof QueueQuery>["criterionQueue"]>["entries"][number];

const reasons: Record<Entry["reason"], string> = {
  VotesDisagree: "The judge's votes disagreed.",
  NearBorder: "The run's score is near the score that it needs.",
  NeverSeen: "Nobody has labeled it.",
  SeenByOthers: "Others have labeled it.",
};

/** The verdicts that a person should label next, one by one and by keyboard. */
export function Queue({ agentId }: { agentId: string }) {
  const [name, setName] = useState(person);
  const [isBlind, setBlind] = useState(true);
  return (
    <Labelling key={`${name} ${isBlind}`} agentId={agentId} name={name} isBlind={isBlind}>
      <Segment label="The judge's verdict" options={[["blind", "Verdict hidden"], ["seen", "Verdict shown"]]} value={isBlind ? "blind" : "seen"} set={(value) => setBlind(value === "blind")} />
      <label className="row tight">
        Your name
        <input
          defaultValue={name}
          placeholder="the API key's"
          maxLength={100}
          onBlur={(event) => {
            setPerson(event.target.value);
            setName(event.target.value);
          }}
        />
      </label>
    </Labelling>
  );
}

function Labelling({ agentId, name, isBlind, children }: { agentId: string; name: string; isBlind: boolean; children: React.ReactNode }) {
  const [offset, setOffset] = useState(0);
  /** The index of the current entry among those that were read together. */
  const [at, setAt] = useState(0);
  const [skipped, setSkipped] = useState(0);
  const [labelled, setLabelled] = useState(0);
  const [note, setNote] = useState("");
  const answer = usePage(QueueQuery, { agentId, person: asPerson(name), isBlind, offset }, { isFresh: true });
  const mark = useAction(MarkVerdict);
  const [done, setDone] = useState<unknown>();
  const queue = answer.data === done ? undefined : answer.data?.criterionQueue;
  const entry = queue?.entries[at];
  const next = (isSkipped: boolean) => {
    setNote("");
    if (queue && at + 1 < queue.entries.length) setAt(at + 1);
    else {
      // Labeled verdicts are no longer in the queue, and skipped ones still are.
      const from = skipped + (isSkipped ? 1 : 0);
      setAt(0);
      setDone(answer.data);
      if (from === offset) answer.refresh();
      else setOffset(from);
    }
    if (isSkipped) setSkipped(skipped + 1);
  };
  const save = async (yes: boolean) => {
    if (!entry || mark.isBusy) return;
    const answered = isBlind ? { holds: yes } : { isRight: yes };
    const result = await mark.run({ input: { runId: entry.runId, criterion: entry.criterion, ...answered, note: note || undefined, person: asPerson(name), isSampled: true } });
    if (!result?.labelCriterionResult) return;
    setLabelled(labelled + 1);
    next(false);
  };
  useKeys((key) => {
    if (key === "y") void save(true);
    if (key === "n") void save(false);
    if (key === "s" && entry) next(true);
  });
  const agent = answer.data?.agent;
  return (
    <Page
      title="Label verdicts"
      crumbs={[{ to: "/tests", text: "Tests" }, ...(agent ? [{ to: `/tests?agent=${agent.id}`, text: agent.name }] : [])]}
      actions={<Link className="button" href={`/tests?agent=${agentId}`}>Done</Link>}
    >
      <div className="toolbar">
        {children}
        <span className="push muted" role="status">
          {plural(labelled, "verdict")} labeled{queue && `, ${Math.max(0, queue.totalCount - at)} to go`}
        </span>
      </div>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!queue && !answer.error && <Loading />}
      {queue && !entry && (
        <Empty icon="tests" title="Nothing to label" action={<Link className="button" href={`/tests?agent=${agentId}`}>Back to the tests</Link>}>
          The judge has decided no other criterion of this agent's tests. Criteria that the program decides need no labels.
        </Empty>
      )}
      {entry && (
        <div className="split">
          <Conversation entry={entry} isBlind={isBlind} />
          <section className="card" aria-labelledby="question-title">
            <header>
              <h2 id="question-title">{isBlind ? "Does this hold?" : "Is the verdict right?"}</h2>
            </header>
            <div className="body stack">
              <strong>{entry.expected}</strong>
              {!isBlind && (
                <div>
                  {entry.applies === false ? "The judge: it does not apply. " : <Glyph of={entry.passed ? "Passed" : "Failed"} />} <span className="muted">{entry.rationale}</span>
                </div>
              )}
              <input aria-label="Why" placeholder="Why (optional)" maxLength={1000} value={note} onChange={(event) => setNote(event.target.value)} />
              <div className="row">
                <Act scope="write" className="primary" disabled={mark.isBusy} onClick={() => void save(true)}>
                  <kbd>y</kbd> {isBlind ? "Holds, or does not apply" : "Right"}
                </Act>
                <Act scope="write" className="primary" disabled={mark.isBusy} onClick={() => void save(false)}>
                  <kbd>n</kbd> {isBlind ? "Does not hold" : "Wrong"}
                </Act>
                <button type="button" onClick={() => next(true)}>
                  <kbd>s</kbd> Skip
                </button>
              </div>
              {mark.error && <Failure error={mark.error} />}
              <span className="muted small">
                {reasons[entry.reason]} Two of three runs are doubtful until all doubtful ones are labeled. The rest are random.
              </span>
            </div>
          </section>
        </div>
      )}
    </Page>
  );
}

/** The conversation. If the verdict is shown, its quotes are marked. */
function Conversation({ entry, isBlind }: { entry: Entry; isBlind: boolean }) {
  const { run } = entry;
  const shown = { ...run, checkResults: [], criteriaResults: (run.criteriaResults ?? []).filter((result) => result.criterion === entry.criterion) };
  return (
    <section aria-labelledby="conversation-title" className="stack">
      <h2 id="conversation-title">
        {isBlind ? inRow(run.testName, run) : <Link href={`/runs/${run.id}`}>{inRow(run.testName, run)}</Link>}
      </h2>
      <div className={styles.log}>
        {run.messages.map((_, index) => (
          <Turn key={index} run={shown} index={index} />
        ))}
      </div>
    </section>
  );
}
