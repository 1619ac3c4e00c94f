import type { CSSProperties } from "react";
import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { usePage } from "../../api/page";
import { inRow } from "../../logic/rows";
import { fallbackText, isMeasured } from "../../logic/usage";
import { may } from "../../ui/Act";
import { count, exactCredits, percent, plural } from "../../ui/format";
import { Page } from "../../ui/Page";
import { Empty, Shown } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { useRepeat } from "../../ui/useRepeat";

const VariantsQuery = graphql(`
  query Variants($id: ID!, $seesSettings: Boolean!) {
    agentTestExecution(id: $id) {
      id status repeats createdAt agent { id name } counts { total queued running }
      variants {
        label isDraft promptVersion model settings @include(if: $seesSettings) conclusion adjustedPValue decidingRepeats
        counts { judged passed error passRate passRateInterval { low high } }
        durationMs { p50 p95 }
        usage { answers fallbacks models credits inputTokens outputTokens firstTokenMs { p50 p95 } }
        tests {
          testId testName rowNumber rowName conclusion adjustedPValue counts { total judged passed error } usage { credits }
          runs { id status attempt }
        }
      }
    }
  }
`);

type Execution = NonNullable<ResultOf<typeof VariantsQuery>["agentTestExecution"]>;
type Variant = Execution["variants"][number];
type Cell = Variant["tests"][number];

/** Styles in the page's own script: all style sheets are a part of the first load. */
const styles = {
  head: { minWidth: 180, padding: 14, verticalAlign: "top", whiteSpace: "normal", borderLeft: "1px solid var(--line)" },
  test: { position: "sticky", left: 0, zIndex: 1, minWidth: 112, maxWidth: 260, background: "var(--surface)", whiteSpace: "normal", verticalAlign: "middle" },
  label: { font: "600 0.875rem/1.375rem var(--sans)", color: "var(--text)", overflowWrap: "anywhere" },
  rate: { marginTop: 6, font: "600 1.375rem/1.75rem var(--sans)", color: "var(--text)", fontVariantNumeric: "tabular-nums" },
  against: { minHeight: 28, marginTop: 6, gap: 6 },
  took: { margin: "10px 0 0" },
  value: { color: "var(--text)", fontVariantNumeric: "tabular-nums" },
  cell: { padding: 0, textAlign: "center", borderLeft: "1px solid var(--line)" },
  link: { display: "block", padding: "10px 8px", color: "var(--text)", fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" },
} satisfies Record<string, CSSProperties>;

/** Prompts and models side by side: a column for each variant, a row for each test. */
export function Variants({ id }: { id: string }) {
  const answer = usePage(VariantsQuery, { id, seesSettings: may("prompts") }, { onFocus: true, isFresh: true });
  const status = answer.data?.agentTestExecution?.status;
  useRepeat(answer.refresh, 2_000, status === "Queued" || status === "Running" || status === "Cancelling");
  return (
    <Shown answer={answer} missing="execution">
      {({ agentTestExecution: execution }) => execution && <Compared execution={execution} />}
    </Shown>
  );
}

function Compared({ execution }: { execution: Execution }) {
  const { agent, variants, counts, status } = execution;
  const ended = counts.total - counts.queued - counts.running;
  const [first] = variants;
  const isOver = status === "Completed" || status === "Cancelled";
  return (
    <Page
      title="Variants"
      crumbs={[{ to: "/tests", text: "Tests" }, ...(agent ? [{ to: `/tests?agent=${agent.id}&execution=${execution.id}`, text: agent.name }] : [])]}
    >
      <p className="muted">
        <span role="status">{isOver ? plural(counts.total, "run") : `${count(ended)} of ${plural(counts.total, "run")}`}</span>, {plural(execution.repeats, "repeat")} of each test,{" "}
        <Time at={execution.createdAt} />
      </p>
      {first ? (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th scope="col" style={styles.test}>
                  Test
                </th>
                {variants.map((variant) => (
                  <Head key={variant.label} variant={variant} first={first} />
                ))}
              </tr>
            </thead>
            <tbody>
              {first.tests.map((test, row) => (
                <tr key={`${test.testId} ${test.rowName ?? test.rowNumber ?? ""}`}>
                  <th scope="row" style={styles.test}>
                    {inRow(test.testName, test)}
                  </th>
                  {variants.map((variant) => {
                    const cell = variant.tests[row];
                    return cell && <Result key={variant.label} cell={cell} label={variant.label} />;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Empty title="No variants">This execution ran its tests with the agent as it was.</Empty>
      )}
    </Page>
  );
}

/** The quality of a variant, and its cost and time. */
function Head({ variant, first }: { variant: Variant; first: Variant }) {
  const { counts, usage, durationMs, conclusion } = variant;
  const interval = counts.passRateInterval;
  const hasUsage = isMeasured(usage.models);
  const fallback = fallbackText(usage);
  return (
    <th scope="col" style={styles.head}>
      <div style={styles.label}>{variant.label}</div>
      <div className="muted small">{changes(variant)}</div>
      {fallback && (
        <div className="fault small" title="The variant's own model was unavailable">
          {fallback}
        </div>
      )}
      <div style={styles.rate}>{counts.passRate === null ? "–" : percent(counts.passRate)}</div>
      <div className="muted small">
        {counts.passed} of {counts.judged}
        {interval && (
          <span title="95% confidence interval of the pass rate">
            {" "}
            ({Math.round(100 * interval.low)}–{Math.round(100 * interval.high)} %)
          </span>
        )}
        {counts.error > 0 && `, ${plural(counts.error, "error")}`}
      </div>
      <div className="row" style={styles.against} title={conclusion ? `Against ${first.label}, corrected for the number of variants` : undefined}>
        {conclusion ? <Status of={conclusion} /> : <span className="muted small">others are compared with it</span>}
        {variant.adjustedPValue !== null && <span className="muted small">p {shownP(variant.adjustedPValue)}</span>}
      </div>
      {variant.decidingRepeats !== null && <div className="muted small">{variant.decidingRepeats} repeats would decide</div>}
      <dl style={styles.took}>
        <Took name="Credits" value={hasUsage ? exactCredits(usage.credits) : "–"} />
        <Took name="Tokens" value={hasUsage ? count(usage.inputTokens + usage.outputTokens) : "–"} />
        <Took name="First text" value={(hasUsage && range(usage.firstTokenMs)) || "–"} title="Median and 95th percentile of the answers" />
        <Took name="Run" value={range(durationMs) ?? "–"} title="Median and 95th percentile of the runs" />
      </dl>
    </th>
  );
}

function Took({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <div className="row" title={title}>
      <dt className="muted">{name}</dt>
      <dd className="push nowrap" style={styles.value}>
        {value}
      </dd>
    </div>
  );
}

/** The passed runs of a test. The background shows their share: from the color of failed runs to the color of passed runs. */
function Result({ cell, label }: { cell: Cell; label: string }) {
  const { counts, conclusion } = cell;
  const run = cell.runs.find(({ status }) => status === "Failed" || status === "Error") ?? cell.runs[0];
  const rate = counts.judged > 0 ? counts.passed / counts.judged : undefined;
  const words = `${counts.passed} of ${counts.judged} passed${counts.error > 0 ? `, ${plural(counts.error, "error")}` : ""}`;
  return (
    <td style={{ ...styles.cell, backgroundColor: rate === undefined ? undefined : shade(rate) }}>
      {run && (
        <Link href={`/runs/${run.id}`} className="quiet" style={styles.link} aria-label={`${label}: ${words}`} title={cell.adjustedPValue === null ? words : `${words}, p ${shownP(cell.adjustedPValue)}`}>
          {rate === undefined ? (counts.total > 0 ? "…" : "not run") : `${counts.passed}/${counts.judged}`}
          {counts.error > 0 && " !"}
          {conclusion === "Regressed" && " ↓"}
          {conclusion === "Improved" && " ↑"}
        </Link>
      )}
    </td>
  );
}

/** From red to green, with yellow at half of the runs. */
function shade(rate: number): string {
  const [from, to, share] = rate < 0.5 ? ["bad", "warn", rate * 2] : ["warn", "ok", rate * 2 - 1];
  return `color-mix(in oklab, var(--${to}-soft) ${Math.round(share * 100)}%, var(--${from}-soft))`;
}

function changes({ isDraft, promptVersion, model, settings }: Variant): string {
  const parts = [isDraft ? "draft" : promptVersion === null ? "" : `prompt v${promptVersion}`, model === null ? "" : model || "default model"];
  for (const group of Object.values(settings ?? {})) {
    // A prompt or another text would be too long here.
    for (const [name, value] of Object.entries(group as object)) parts.push(typeof value === "string" ? name : `${name} ${value}`);
  }
  return parts.filter(Boolean).join(", ") || "as it is";
}

const seconds = (ms: number) => (ms < 9_950 ? (ms / 1_000).toFixed(ms < 995 ? 2 : 1) : String(Math.round(ms / 1_000)));

/** "0.31 / 1.2 s": the median and the 95th percentile. */
function range(of: { p50: number; p95: number } | null): string | undefined {
  return of ? `${seconds(of.p50)} / ${seconds(of.p95)} s` : undefined;
}

function shownP(p: number): string {
  return p < 0.000_1 ? "< 0.0001" : `= ${Number(p.toPrecision(2))}`;
}
