import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { usePage } from "../../api/page";
import { may } from "../../ui/Act";
import { Failure, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import type { AgentOfPage } from "./query";
import styles from "./AgentHealth.module.css";

const TestsBlame = graphql(`
  query TestsBlame($id: ID!, $seesVersions: Boolean!) {
    agent(id: $id) {
      id
      allTests: tests(first: 1) { totalCount }
      passed: tests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
      failed: tests(first: 1, filter: { lastRunStatuses: [Failed] }) { totalCount }
      error: tests(first: 1, filter: { lastRunStatuses: [Error] }) { totalCount }
      notPassed: tests(first: 50, filter: { lastRunStatuses: [Failed, Error, Cancelled, Skipped, Queued, Running] }) {
        pageInfo { hasNextPage }
        nodes {
          __typename id name lastRunId
          failingSince { promptVersion lastPassed { promptVersion } }
        }
      }
      promptVersions(first: 5) @include(if: $seesVersions) { nodes { id version testRuns { judged passed } } }
    }
  }
`);

/** The state of the agent's tests: which are red and since which prompt, and the results of each version. */
export function AgentHealth({ agent }: { agent: AgentOfPage }) {
  const answer = usePage(TestsBlame, { id: agent.id, seesVersions: may("prompts") });
  const tests = answer.data?.agent;
  return (
    <div className="stack">
      <section className="card" aria-labelledby="health-title">
        <header>
          <h2 id="health-title">Tests</h2>
          <Link className="push" href={`/tests?agent=${agent.id}`}>
            All tests
          </Link>
        </header>
        <div className="body stack">
          {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
          {!tests && !answer.error && <Loading lines={4} />}
          {tests?.allTests.totalCount === 0 && (
            <p className="muted">
              No tests yet. <Link href={`/chats/new?agent=${agent.id}`}>Start a chat</Link> and create a test from it, or{" "}
              <Link href={`/tests?agent=${agent.id}`}>write one</Link>.
            </p>
          )}
          {tests && tests.allTests.totalCount > 0 && (
            <>
              <div className="row">
                {([["Passed", tests.passed], ["Failed", tests.failed], ["Error", tests.error]] as const).map(([status, { totalCount }]) =>
                  totalCount > 0 ? (
                    <span key={status} className="row tight">
                      {totalCount} <Status of={status} />
                    </span>
                  ) : null,
                )}
                <span className="muted">of {tests.allTests.totalCount}</span>
              </div>
              <ul className="stack tight">
                {tests.notPassed.nodes.map(
                  (test) =>
                    test.failingSince && (
                      <li key={test.id} className={styles.red}>
                        <Link href={`/runs/${test.lastRunId}`}>{test.name}</Link>
                        <Since agentId={agent.id} failure={test.failingSince} />
                      </li>
                    ),
                )}
              </ul>
              {tests.notPassed.pageInfo.hasNextPage && <Link href={`/tests?agent=${agent.id}&show=notpassed`}>All failures</Link>}
              <Versions versions={answer.data?.agent?.promptVersions?.nodes ?? []} />
            </>
          )}
        </div>
      </section>
      <section className="card" aria-labelledby="fields-title">
        <header>
          <h2 id="fields-title">Fields</h2>
          <Link className="push" href={`/agents/${agent.id}/settings`}>
            Change
          </Link>
        </header>
        <ul className={`body ${styles.fields}`}>
          {agent.fields.map((field) => (
            <li key={field.name}>
              <code>{`{${field.name}}`}</code>{" "}
              <span className="muted small">{[field.isMandatory && "required", field.isSystem && "system"].filter(Boolean).join(", ")}</span>
            </li>
          ))}
          {agent.fields.length === 0 && <li className="muted">none</li>}
        </ul>
      </section>
    </div>
  );
}

interface Failing {
  promptVersion: number;
  lastPassed: { promptVersion: number } | null;
}

/** "Failing since v2", with a link to the changes. */
export function Since({ agentId, failure }: { agentId: string; failure: Failing }) {
  const { promptVersion, lastPassed } = failure;
  if (!lastPassed) return <span className="muted small">never passed</span>;
  if (lastPassed.promptVersion === promptVersion) {
    return <span className="muted small">failing with the same prompt, v{promptVersion}</span>;
  }
  return (
    <Link className="small" href={`/agents/${agentId}/versions?from=${lastPassed.promptVersion}&to=${promptVersion}`}>
      failing since v{promptVersion}: see changes
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
  return (
    <dl className={styles.versions}>
      {tested.map(({ id, version, testRuns: { passed, judged } }) => (
        <div key={id}>
          <dt>v{version}</dt>
          <dd>
            <meter min={0} max={judged} value={passed} aria-label={`Passed with version ${version}`} />
            <span>
              {passed}/{judged} runs
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
