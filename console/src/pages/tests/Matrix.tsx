import { useEffect, useEffectEvent, useRef, useState, type KeyboardEvent } from "react";
import { useSubscription } from "urql";
import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useFollowed } from "../../api/live";
import { usePage } from "../../api/page";
import { folded } from "../../logic/names";
import { inRow } from "../../logic/rows";
import { duration, plural } from "../../ui/format";
import { Failure, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Strip } from "../../ui/Strip";
import { Since } from "../agent/AgentHealth";
import type { AgentOfTests, TestRow } from "./AgentTests";
import styles from "./Matrix.module.css";
import { Progress } from "./Progress";
import type { TestList } from "./useTests";

const MatrixQuery = graphql(`
  query Matrix($id: ID!) {
    agentTestExecution(id: $id) {
      id status isDraft verdict repeats passRate passRateInterval { low high } simulatorErrors passHatK retryOfId createdAt startedAt finishedAt
      leftOutTests { testId testName rowName }
      rejudgeOfId judgeModel agreement { runs sameRuns criteria sameCriteria }
      rejudgements { id judgeModel startedBy createdAt }
      correctedPassRate { rate interval { low high } labels }
      counts { total queued running passed failed error cancelled skipped judged }
      tests { testId rowNumber rowName runs { id attempt status promptVersion variant durationMs } }
      usage { models firstTokenMs { p50 p95 } tookMs { p50 p95 } }
    }
  }
`);

const RunUpdates = graphql(`
  subscription RunUpdates($id: ID!) {
    agentTestRunUpdated(executionId: $id) { id status durationMs }
  }
`);

const ExecutionUpdates = graphql(`
  subscription ExecutionUpdates($id: ID!) {
    agentTestExecutionUpdated(executionId: $id) {
      id status verdict passRate passRateInterval { low high } passHatK finishedAt counts { total queued running passed failed error cancelled skipped judged }
      agreement { runs sameRuns criteria sameCriteria }
    }
  }
`);

export type ExecutionOfMatrix = NonNullable<ResultOf<typeof MatrixQuery>["agentTestExecution"]>;
/** A test in the execution, or a row of one. */
type Executed = ExecutionOfMatrix["tests"][number];
type Run = Executed["runs"][number];

interface Props {
  agent: AgentOfTests;
  list: TestList;
  executionId: string | undefined;
  show: string;
  /** The id of the only folder that is shown; empty for all. */
  folderId: string;
  /** Only tests with this text in their names. */
  find: string;
  ticked: ReadonlySet<string>;
  setTicked: (ticked: ReadonlySet<string>) => void;
  edit: (testId: string) => void;
  editFolder: (folderId: string) => void;
  onStarted: (executionId: string) => void;
  /** Called when the shown execution ends. */
  onEnded: () => void;
}

/** A row for each test and a cell for each attempt, live during the execution. */
export function Matrix(props: Props) {
  const { agent, list, executionId, show } = props;
  const answer = usePage(MatrixQuery, { id: executionId ?? "" }, { pause: !executionId });
  const execution = answer.data?.agentTestExecution ?? undefined;
  useUpdates(execution, answer.refresh, props.onEnded);
  if (answer.error && !execution) return <Failure error={answer.error} retry={answer.refresh} />;
  if (executionId && !execution) return <Loading />;
  const executed = new Map<string, Executed[]>();
  for (const row of execution?.tests ?? []) executed.set(row.testId, [...(executed.get(row.testId) ?? []), row]);
  const isShown = (test: TestRow) => {
    if (props.folderId && test.folderId !== props.folderId) return false;
    const status = executed.get(test.id)?.flatMap((row) => row.runs.map((run) => run.status)) ?? [test.lastRunStatus ?? ""];
    return show === "notpassed" ? status.some((s) => s === "Failed" || s === "Error") : show === "flaky" ? test.isFlaky : true;
  };
  const searchText = folded(props.find);
  const tests = list.tests.filter((test) => isShown(test) && folded(test.name).includes(searchText));
  const folders = [...agent.testFolders, { id: "", name: "No folder", color: "", tests: agent.testsAtRoot }];
  const attempts = Math.max(execution?.repeats ?? 1, 1);
  return (
    <section className="stack" aria-label="Tests">
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {execution && <Progress execution={execution} all={agent.allTests.totalCount} onStarted={props.onStarted} />}
      <div className="card scroll">
        <table className={styles.matrix} data-ticked={props.ticked.size > 0} onKeyDown={moveBetweenCells}>
          <Head attempts={attempts} />
          {folders.map((folder) => {
            const inFolder = tests.filter((test) => (test.folderId ?? "") === folder.id);
            // An empty folder shows only without filters.
            const isOther = props.folderId && props.folderId !== folder.id;
            if (inFolder.length === 0 && (show || searchText || isOther || (!folder.id && folder.tests.totalCount === 0))) return null;
            const count = show || searchText ? inFolder.length : folder.tests.totalCount;
            return (
              <tbody key={folder.id}>
                <FolderRow folder={folder} count={count} columns={attempts + 6} edit={props.editFolder} />
                {inFolder.map((test) => (
                  <Row key={test.id} test={test} rows={executed.get(test.id) ?? []} attempts={attempts} {...props} />
                ))}
              </tbody>
            );
          })}
        </table>
      </div>
      <p role="status" className="unseen">
        {(show || searchText || props.folderId) && `${plural(tests.length, "test")} shown`}
      </p>
      {tests.length === 0 && (show || searchText) && !list.hasMore && (
        <p className="muted">{searchText ? "No test has this name." : `No test is ${show === "flaky" ? "flaky" : "red"}.`}</p>
      )}
      <More list={list} />
    </section>
  );
}

/** How many of the tests are loaded, and a button that loads more. */
function More({ list }: { list: TestList }) {
  if (list.error) return <Failure error={list.error} retry={list.refresh} />;
  if (!list.hasMore) return null;
  return (
    <div className="body row">
      <span className="muted" role="status">
        {list.isReading ? `Loading… ${list.tests.length} of ${plural(list.totalCount, "test")}` : `The newest ${list.tests.length} of ${plural(list.totalCount, "test")}`}
      </span>
      <button type="button" disabled={list.isReading} onClick={list.readMore}>
        Show more
      </button>
    </div>
  );
}

/** Follows an execution and its runs until it is over. */
function useUpdates(execution: ExecutionOfMatrix | undefined, refresh: () => void, ended: () => void): void {
  const isOver = !execution || execution.status === "Completed" || execution.status === "Cancelled";
  const variables = { id: execution?.id ?? "" };
  useSubscription({ query: RunUpdates, variables, pause: isOver });
  useFollowed(ExecutionUpdates, variables, isOver, refresh);
  const onEnded = useEffectEvent(ended);
  const wasRunning = useRef(false);
  useEffect(() => {
    if (isOver && wasRunning.current) onEnded();
    wasRunning.current = !isOver;
  }, [isOver]);
}

function Head({ attempts }: { attempts: number }) {
  return (
    <thead>
      <tr>
        <th scope="col" className={styles.tick}>
          <span className="unseen">Selected</span>
        </th>
        <th scope="col" className={styles.name}>
          Test
        </th>
        {Array.from({ length: attempts }, (_, i) => (
          <th key={i} scope="col" className={styles.attempt}>
            {i + 1}
          </th>
        ))}
        <th scope="col" className="number wide">
          Passed
        </th>
        <th scope="col" className="number wide">
          Median
        </th>
        <th scope="col" className="wide">
          Last 20 runs
        </th>
        <th scope="col" className="wide">
          Red since
        </th>
      </tr>
    </thead>
  );
}

function FolderRow({ folder, count, columns, edit }: {
  folder: { id: string; name: string; color: string };
  count: number;
  columns: number;
  edit: (folderId: string) => void;
}) {
  return (
    <tr className={styles.folder}>
      <th colSpan={columns} scope="rowgroup">
        {folder.color && <i className={styles.swatch} style={{ backgroundColor: folder.color }} />}
        {folder.name} <span className="muted">{count}</span>
        {folder.id && (
          <button type="button" className="plain small" data-edit onClick={() => edit(folder.id)}>
            Edit<span className="unseen"> the folder {folder.name}</span>
          </button>
        )}
      </th>
    </tr>
  );
}

function Row({ test, rows, attempts, ticked, setTicked, edit }: Props & { test: TestRow; rows: Executed[]; attempts: number }) {
  const [isOpen, setOpen] = useState(false);
  const runs = rows.flatMap((row) => row.runs);
  const isTable = rows.some((row) => row.rowNumber !== null);
  const judged = runs.filter((run) => run.status === "Passed" || run.status === "Failed");
  const passed = judged.filter((run) => run.status === "Passed").length;
  const failure = test.failingSince;
  const tick = () => {
    const next = new Set(ticked);
    if (!next.delete(test.id)) next.add(test.id);
    setTicked(next);
  };
  return (
    <>
      <tr data-go>
        <td className={styles.tick}>
          <input type="checkbox" checked={ticked.has(test.id)} onChange={tick} aria-label={`Select ${test.name}`} />
        </td>
        <th scope="row" className={styles.name}>
          <button type="button" onClick={() => edit(test.id)}>
            {test.name}
          </button>
          {isTable && (
            <button type="button" className="plain small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {plural(rows.length, "row")}
              <span className="unseen"> of {test.name}</span>
            </button>
          )}
          {judged.length > 0 && <span className={`narrow muted small ${styles.count}`}>{`${passed} of ${judged.length} passed`}</span>}
          {failure && (
            <div className="narrow">
              <Since testId={test.id} failure={failure} />
            </div>
          )}
          {test.isFlaky && <span className={styles.flaky}>flaky</span>}
          {test.obstacles.length > 0 && (
            <span className={styles.flaky} title={test.obstacles.join("\n")}>
              has a warning
            </span>
          )}
        </th>
        {Array.from({ length: attempts }, (_, i) => {
          const at = runs.filter((r) => r.attempt === i + 1);
          const isOne = !isTable && at.length < 2; // each variant has its own attempts
          return <Cell key={i} run={isOne ? at[0] : undefined} status={isOne ? undefined : worst(at)} />;
        })}
        <td className={`number wide ${passed < judged.length ? "fault" : ""}`}>{judged.length > 0 ? `${passed}/${judged.length}` : <span className="muted">–</span>}</td>
        <td className="number wide muted">{median(runs)}</td>
        <td className="wide">
          <Strip runs={test.history} slots={20} />
        </td>
        <td className={`${styles.since} wide`}>{failure && <Since testId={test.id} failure={failure} />}</td>
      </tr>
      {isTable && isOpen && rows.map((row) => <TableRow key={`${row.rowNumber} ${row.rowName ?? ""}`} row={row} attempts={attempts} />)}
    </>
  );
}

/** A row of a test's table, with its attempts. */
function TableRow({ row, attempts }: { row: Executed; attempts: number }) {
  const judged = row.runs.filter((run) => run.status === "Passed" || run.status === "Failed");
  const passed = judged.filter((run) => run.status === "Passed").length;
  return (
    <tr>
      <td className={styles.tick} />
      <th scope="row" className={`${styles.name} muted`}>
        {inRow("", row).trim().slice(1, -1)}
      </th>
      {Array.from({ length: attempts }, (_, i) => (
        <Cell key={i} run={row.runs.find((r) => r.attempt === i + 1)} />
      ))}
      <td className="number wide">{judged.length > 0 ? `${passed}/${judged.length}` : <span className="muted">–</span>}</td>
      <td className="number wide">{median(row.runs)}</td>
      <td className="wide" />
      <td className="wide" />
    </tr>
  );
}

/** An attempt: its run or, for a test with rows, the worst status. */
function Cell({ run, status }: { run: Run | undefined; status?: string | undefined }) {
  return (
    <td className={styles.attempt}>
      {run && (
        <Link href={`/runs/${run.id}`} className="quiet" data-cell>
          <Status of={run.status} short />
        </Link>
      )}
      {!run && status && <Status of={status} short />}
      {!run && !status && (
        <span className="muted">
          <span aria-hidden="true">·</span>
          <span className="unseen">not run</span>
        </span>
      )}
    </td>
  );
}

/** The worst status of several runs. */
function worst(runs: readonly Run[]): string | undefined {
  return ["Failed", "Error", "Running", "Queued", "Cancelled", "Passed"].find((status) => runs.some((run) => run.status === status));
}

function median(runs: readonly Run[]): string {
  const times = runs.flatMap((run) => (run.durationMs === null ? [] : [run.durationMs])).sort((a, b) => a - b);
  const middle = times[Math.floor((times.length - 1) / 2)];
  return middle === undefined ? "–" : duration(middle);
}

const steps: Record<string, [row: number, column: number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Arrow keys move from cell to cell. */
function moveBetweenCells(event: KeyboardEvent<HTMLTableElement>): void {
  const step = steps[event.key];
  const cell = (event.target as HTMLElement).closest("[data-cell]")?.closest("td");
  if (!step || !cell) return;
  const rows = [...event.currentTarget.rows].filter((row) => row.querySelector("[data-cell]"));
  const row = rows[rows.indexOf(cell.parentElement as HTMLTableRowElement) + step[0]];
  const next = row?.cells[cell.cellIndex + step[1]]?.querySelector<HTMLElement>("[data-cell]");
  if (!next) return;
  event.preventDefault();
  next.focus();
}
