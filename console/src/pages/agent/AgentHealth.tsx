import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { usePage } from "../../api/page";
import { may } from "../../ui/Act";
import { Meter } from "../../ui/Meter";
import { Failure, Loading } from "../../ui/states";
import { Glyph } from "../../ui/Status";
import type { AgentOfPage } from "./query";
import styles from "./AgentHealth.module.css";

const TestsBlame = graphql(`
  query TestsBlame($id: ID!, $seesVersions: Boolean!) {
    agent(id: $id) {
      id
      allTests: tests(first: 1) { totalCount }
      passed: tests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
      notPassed: tests(first: 50, filter: { lastRunStatuses: [Failed, Error, Cancelled, Skipped, Queued, Running] }) {
        pageInfo { hasNextPage }
        nodes {
          __typename id name lastRunId lastRunStatus
          failingSince { promptVersion lastPassed { promptVersion } }
        }
      }
      promptVersions(first: 5) @include(if: $seesVersions) { nodes { id version testRuns { judged passed } } }
    }
  }
`);

/** The agent's tests, red ones with the first failing prompt version; the results of each version; and the fields. */
export function AgentHealth({ agent }: { agent: AgentOfPage }) {
  const answer = usePage(TestsBlame, { id: agent.id, seesVersions: may("prompts") });
  const tests = answer.data?.agent;
  const failing = tests?.notPassed.nodes.filter((test) => test.failingSince) ?? [];
  return (
    <aside className={styles.panel} aria-label="Tests and fields">
      <section>
        <header>
          <h2>Tests</h2>
          {tests && tests.allTests.totalCount > 0 && (
            <Link href={`/agents/${agent.id}/tests`}>
              {tests.passed.totalCount} of {tests.allTests.totalCount} pass
            </Link>
          )}
        </header>
        {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
        {!tests && !answer.error && <Loading lines={3} />}
        {tests?.allTests.totalCount === 0 && (
          <p className="muted">
            No tests yet. <Link href={`/chats/new?agent=${agent.id}`}>Start a chat</Link> and create a test from it, or{" "}
            <Link href={`/agents/${agent.id}/tests`}>write one</Link>.
          </p>
        )}
        <ul className={styles.red}>
          {failing.map(
            (test) =>
              test.failingSince && (
                <li key={test.id}>
                  <Glyph of={test.lastRunStatus ?? "Failed"} />
                  <span>
                    <Link href={`/runs/${test.lastRunId}`}>{test.name}</Link>
                    <Since testId={test.id} failure={test.failingSince} />
                  </span>
                </li>
              ),
          )}
        </ul>
        {tests?.notPassed.pageInfo.hasNextPage && <Link href={`/agents/${agent.id}/tests?show=notpassed`}>All failures</Link>}
      </section>
      <Versions versions={tests?.promptVersions?.nodes ?? []} />
      <section>
        <header>
          <h2>Fields</h2>
          <Link href={`/agents/${agent.id}/settings`}>Edit</Link>
        </header>
        <ul className={styles.fields}>
          {agent.fields.map((field) => (
            <li key={field.name}>
              <code>{field.name}</code>
              <span className="muted">{field.isSystem ? "system" : field.isMandatory ? "required" : "optional"}</span>
            </li>
          ))}
          {agent.fields.length === 0 && <li className="muted">The prompt has no fields.</li>}
        </ul>
      </section>
    </aside>
  );
}

interface Failing {
  promptVersion: number;
  lastPassed: { promptVersion: number } | null;
}

/** "v2: what broke it", as a link to the change that broke the test. */
export function Since({ testId, failure }: { testId: string; failure: Failing }) {
  const { promptVersion, lastPassed } = failure;
  if (!lastPassed) return <span className="muted small">never passed</span>;
  if (lastPassed.promptVersion === promptVersion) {
    return <span className="muted small">same prompt, v{promptVersion}</span>;
  }
  return (
    <Link className="small" href={`/tests/${testId}/blame`}>
      v{promptVersion}: what broke it
    </Link>
  );
}

interface VersionResult {
  id: string;
  version: number;
  testRuns: { judged: number; passed: number };
}

/** The results of the newest prompt versions, each over its own last runs. Versions that no test ran with are left out. */
function Versions({ versions }: { versions: readonly VersionResult[] }) {
  const tested = versions.filter(({ testRuns }) => testRuns.judged > 0);
  if (tested.length === 0) return null;
  return (
    <section>
      <header>
        <h2>By version</h2>
      </header>
      <dl className={styles.versions}>
        {tested.map(({ id, version, testRuns: { passed, judged } }) => (
          <div key={id}>
            <dt>v{version}</dt>
            <dd>
              {passed} of {judged}
            </dd>
            <dd className={styles.bar}>
              <Meter total={judged} parts={[["passed", passed]]} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
