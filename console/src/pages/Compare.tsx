import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { inRow } from "../logic/rows";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Pick } from "../ui/Pick";
import { Empty, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import styles from "./Compare.module.css";
import { Variants } from "./variants/Variants";

const CompareQuery = graphql(`
  query Compare($baseId: ID!, $headId: ID!, $baseVariant: String, $headVariant: String) {
    compareAgentTestExecutions(baseId: $baseId, headId: $headId, baseVariant: $baseVariant, headVariant: $headVariant) {
      base { id createdAt repeats promptVersions }
      head { id createdAt repeats promptVersions agent { id name } }
      newlyFailing newlyPassing flaky stratifiedPValue conclusion decidingRepeats
      baseCounts { judged passed passRateInterval { low high } }
      headCounts { judged passed passRateInterval { low high } }
      tests {
        testId testName rowNumber rowName change isFlakyInBase isFlakyInHead adjustedPValue conclusion decidingRepeats
        base { judged passed error passRateInterval { low high } }
        head { judged passed error passRateInterval { low high } }
        baseRuns { id attempt status }
        headRuns { id attempt status }
      }
    }
  }
`);

type Comparison = NonNullable<ResultOf<typeof CompareQuery>["compareAgentTestExecutions"]>;
type ComparedTest = Comparison["tests"][number];

/** The differences between two executions, or between the variants of one. */
export default function Compare() {
  const [params] = useSearchParams();
  const variants = params.get("variants");
  return variants ? <Variants key={variants} id={variants} /> : <Executions />;
}

/** The changes between two executions, and whether chance explains them. */
function Executions() {
  const [params] = useSearchParams();
  const [baseId, headId] = [params.get("base"), params.get("head")];
  // An address may name a variant of each execution. An empty name counts as no name.
  const variants = { baseVariant: params.get("baseVariant") || undefined, headVariant: params.get("headVariant") || undefined };
  const answer = usePage(CompareQuery, { baseId: baseId ?? "", headId: headId ?? "", ...variants }, { pause: !baseId || !headId, onFocus: true });
  if (!baseId || !headId) {
    return (
      <Page title="Compare">
        <Empty title="Choose two executions">
          Open the <Link href="/tests">tests</Link> of an agent and tick two of its executions.
        </Empty>
      </Page>
    );
  }
  return (
    <Shown answer={answer} missing="pair of executions">
      {({ compareAgentTestExecutions: comparison }) => comparison && <Compared comparison={comparison} />}
    </Shown>
  );
}

const changes: Record<ComparedTest["change"], string> = {
  NewlyFailing: "newly failing",
  NewlyPassing: "newly passing",
  StillFailing: "still failing",
  StillPassing: "still passing",
  Added: "added",
  Removed: "removed",
  Undecided: "undecided",
};

/** The most important change comes first. */
const order: ComparedTest["change"][] = ["NewlyFailing", "NewlyPassing", "Undecided", "StillFailing", "Added", "Removed", "StillPassing"];

const words = {
  Regressed: "Worse: chance alone does not explain the difference.",
  Improved: "Better: chance alone does not explain the difference.",
  NoDifference: "No difference, with enough runs to detect one.",
  CannotDecide: "Too few runs to tell a difference from chance.",
};

const filters = [
  ["", "All tests"],
  ["changed", "Changed"],
  ["regressed", "Regressed"],
  ["undecided", "Cannot decide"],
] as const;

const isShown: Record<string, (test: ComparedTest) => boolean> = {
  changed: (test) => test.change.startsWith("Newly"),
  regressed: (test) => test.conclusion === "Regressed",
  undecided: (test) => test.conclusion === "CannotDecide",
};

function Compared({ comparison }: { comparison: Comparison }) {
  const [params, setParams] = useSearchParams();
  const { head } = comparison;
  const show = params.get("show") ?? "";
  const tests = comparison.tests
    .filter((test) => (isShown[show] ?? (() => true))(test))
    .toSorted((a, b) => order.indexOf(a.change) - order.indexOf(b.change));
  const set = (name: string, value: string) => setParams((old) => ({ ...Object.fromEntries(old), [name]: value }), { replace: true });
  const agent = head.agent;
  return (
    <Page
      title="Comparison"
      crumbs={[{ to: "/tests", text: "Tests" }, ...(agent ? [{ to: `/tests?agent=${agent.id}`, text: agent.name }] : [])]}
      actions={
        <Link className="button" href={`/compare?${swapped(params)}`}>
          <Icon name="updown" />
          Swap
        </Link>
      }
    >
      <Together comparison={comparison} variants={[params.get("baseVariant"), params.get("headVariant")]} />
      <section className="card" aria-label="Test by test">
        <header>
          <Pick label="Show" options={filters} value={show} set={(value) => set("show", value)} />
        </header>
        <TestByTest comparison={comparison} tests={tests} />
        {tests.length === 0 && <p className="body muted">No tests match the filter.</p>}
      </section>
    </Page>
  );
}

/** The address's parameters with base and head exchanged. */
function swapped(params: URLSearchParams): string {
  const [base, head] = ["base", "head"].map((side) => [params.get(side) ?? "", params.get(`${side}Variant`) ?? ""]);
  return new URLSearchParams({ base: head?.[0] ?? "", head: base?.[0] ?? "", baseVariant: head?.[1] ?? "", headVariant: base?.[1] ?? "" }).toString();
}

/** Statistics of all tests at once, and the prompts that they were run with. */
function Together({ comparison, variants: [ofBase, ofHead] }: { comparison: Comparison; variants: (string | null)[] }) {
  const { base, head, baseCounts, headCounts } = comparison;
  const [before, after] = [base.promptVersions.at(-1), head.promptVersions.at(-1)];
  return (
    <section className="card" aria-label="All tests">
      <div className="body stack tight">
        <div className="row">
          <Status of={comparison.conclusion} />
          <strong>
            {baseCounts.passed}/{baseCounts.judged} → {headCounts.passed}/{headCounts.judged} passed
          </strong>
          {comparison.decidingRepeats !== null && <span className="muted">{comparison.decidingRepeats} runs of each test on each side would be enough to decide</span>}
          {comparison.stratifiedPValue !== null && <span className="muted">p {comparison.stratifiedPValue < leastP ? "" : "= "}{shownP(comparison.stratifiedPValue)}</span>}
          <span className="muted">
            true pass rate <Interval of={baseCounts.passRateInterval} /> → <Interval of={headCounts.passRateInterval} />
          </span>
          <span>{words[comparison.conclusion]}</span>
        </div>
        {(ofBase || ofHead) && (
          <p>
            Variants: {ofBase || "without"} → {ofHead || "without"}
          </p>
        )}
        <div className="row">
          <span>{comparison.newlyFailing} newly failing</span>·<span>{comparison.newlyPassing} newly passing</span>·<span>{comparison.flaky} flaky</span>
          {head.agent && before && after && before !== after && (
            <Link href={`/agents/${head.agent.id}/versions?from=${before}&to=${after}`}>
              Prompt v{before} → v{after}: what changed
            </Link>
          )}
          {before && before === after && <span className="muted">the same prompt, v{before}</span>}
        </div>
      </div>
    </section>
  );
}

function TestByTest({ comparison: { base, head }, tests }: { comparison: Comparison; tests: readonly ComparedTest[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Test</th>
            <th scope="col">
              Base{" "}
              <span className="wide">
                <Time at={base.createdAt} />
              </span>
            </th>
            <th scope="col">
              Head{" "}
              <span className="wide">
                <Time at={head.createdAt} />
              </span>
            </th>
            <th scope="col">Change</th>
            <th scope="col" className="number wide">
              p
            </th>
            <th scope="col" className="wide">
              Statistics
            </th>
          </tr>
        </thead>
        <tbody>
          {tests.map((test) => (
            <Row key={`${test.testId} ${test.rowName ?? test.rowNumber ?? ""}`} test={test} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ test }: { test: ComparedTest }) {
  return (
    <tr>
      <th scope="row">
        {inRow(test.testName, test)}
        <SideBySide base={test.baseRuns} head={test.headRuns} />
      </th>
      <td>
        <Side counts={test.base} runs={test.baseRuns} />
      </td>
      <td>
        <Side counts={test.head} runs={test.headRuns} />
      </td>
      <td>
        <span className={styles.change} data-change={test.change}>
          {changes[test.change]}
        </span>
        {(test.isFlakyInBase || test.isFlakyInHead) && <div className="muted small">flaky</div>}
      </td>
      <td className="number wide">{test.adjustedPValue === null ? "–" : shownP(test.adjustedPValue)}</td>
      <td className="wide">
        <Status of={test.conclusion} />
        {test.decidingRepeats !== null && <div className="muted small">{test.decidingRepeats} runs on each side would be enough to decide</div>}
      </td>
    </tr>
  );
}

/** The 95% confidence interval of a rate. */
function Interval({ of }: { of: Comparison["baseCounts"]["passRateInterval"] }) {
  if (!of) return null;
  return (
    <span className="nowrap" title="95% confidence interval of the pass rate">
      {Math.round(100 * of.low)}–{Math.round(100 * of.high)} %
    </span>
  );
}

type RunsOfSide = ComparedTest["baseRuns"];

/** A link to an attempt of each side: the first that passed and the first that failed, if any. */
function SideBySide({ base, head }: { base: RunsOfSide; head: RunsOfSide }) {
  const before = base.find((run) => run.status === "Passed") ?? base[0];
  const after = head.find((run) => run.status !== before?.status) ?? head[0];
  if (!before || !after) return null;
  return (
    <div>
      <Link href={`/runs/${before.id}?with=${after.id}`} className="small">
        Side by side
      </Link>
    </div>
  );
}

function Side({ counts, runs }: { counts: ComparedTest["base"]; runs: RunsOfSide }) {
  if (!counts) return <span className="muted">not run</span>;
  return (
    <span className={styles.runs}>
      <span className="nowrap">
        {counts.passed}/{counts.judged}
        {counts.error > 0 && `, ${counts.error} !`}
      </span>
      <span className="muted small wide">
        <Interval of={counts.passRateInterval} />
      </span>
      {runs.map((run) => (
        <Link key={run.id} href={`/runs/${run.id}`} className="quiet wide" aria-label={`Attempt ${run.attempt}: ${run.status}`}>
          <Status of={run.status} short />
        </Link>
      ))}
    </span>
  );
}

/** Smaller p-values are shown as less than this. */
const leastP = 0.000_05;

function shownP(p: number): string {
  return p < leastP ? "< 0.0001" : String(Number(p.toPrecision(2)));
}
