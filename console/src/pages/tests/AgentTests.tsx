import { useEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useHere } from "../../api/page";
import { Act } from "../../ui/Act";
import { Page } from "../../ui/Page";
import { Empty } from "../../ui/states";
import { BulkButtons } from "./BulkButtons";
import { Executions } from "./Executions";
import { FolderEditor } from "./FolderEditor";
import { Matrix } from "./Matrix";
import { RunButtons } from "./RunButtons";
import { NewTest, TestEditor } from "./TestEditor";
import { useTests } from "./useTests";

export const TestsQuery = graphql(`
  query Tests($agentId: ID!, $folderId: ID, $first: Int!, $after: String) {
    agent(id: $agentId) {
      id name promptVersion
      fields { name isMandatory isSystem }
      testFolders { id name color body updatedAt tests(first: 1) { totalCount } }
      allTests: tests(first: 1) { totalCount }
      testsAtRoot: tests(first: 1, atRoot: true) { totalCount }
      tests(folderId: $folderId, first: $first, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          __typename id name folderId isFlaky lastRunStatus obstacles
          failingSince { promptVersion lastPassed { promptVersion } }
          history(first: 20) { id status promptVersion isDraft }
        }
      }
      testExecutions(first: 20) {
        totalCount
        nodes { id status isDraft verdict repeats passRate retryOfId rejudgeOfId createdAt finishedAt counts { total queued running passed failed error cancelled } }
      }
    }
  }
`);

export type AgentOfTests = NonNullable<ResultOf<typeof TestsQuery>["agent"]>;
export type TestRow = AgentOfTests["tests"]["nodes"][number];

/** An agent's tests, with the result of each attempt of an execution. */
export function AgentTests({ agent, refresh: refreshFirst }: { agent: AgentOfTests; refresh: () => void }) {
  const [params, setParams] = useSearchParams();
  const list = useTests(agent, params.get("folder"), Boolean(params.get("show")));
  const refresh = () => {
    refreshFirst();
    list.refresh();
  };
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [isNew, setNew] = useState(false);
  /** The id of the folder that is edited, or "new". */
  const [folderId, setFolderId] = useState<string>();
  const executions = agent.testExecutions.nodes;
  const executionId = params.get("execution") ?? (executions.find((each) => !each.rejudgeOfId && !each.isDraft) ?? executions[0])?.id;
  const edited = params.get("edit");
  const editedNow = useRef(edited);
  useEffect(() => {
    editedNow.current = edited;
  }, [edited]);
  const isHere = useHere();
  const set = (name: string, value: string | undefined) => {
    if (!isHere.current) return;
    setParams((old) => {
      const next = new URLSearchParams(old);
      if (value) next.set(name, value);
      else next.delete(name);
      return next;
    });
  };
  const show = (id: string) => {
    set("execution", id);
    refresh();
  };
  const closeFolder = (of: string) => {
    setFolderId((now) => (now === of ? undefined : now));
    refresh();
  };
  /** Closes the editor of a test (null: of a new one), unless another editor was opened meanwhile. */
  const closeEditor = (of: string | null, opened?: string) => {
    if (of === null) setNew(false);
    if (editedNow.current === of && of !== (opened ?? null)) set("edit", opened);
    refresh();
  };
  return (
    <Page
      title={`Tests of ${agent.name}`}
      crumbs={[
        { to: "/tests", text: "Tests" },
        { to: `/agents/${agent.id}`, text: agent.name },
      ]}
      actions={
        <>
          {ticked.size > 0 && (
            <BulkButtons
              agent={agent}
              ticked={ticked}
              onDone={() => {
                setTicked(new Set());
                refresh();
              }}
            />
          )}
          <Link href={`/schedules?agent=${agent.id}`}>Schedules</Link>
          <RunButtons agentId={agent.id} isEmpty={agent.allTests.totalCount === 0} ticked={ticked} onStarted={show} />
          <Act scope="write" onClick={() => setFolderId("new")}>
            New folder
          </Act>
          <Act scope="write" onClick={() => setNew(true)}>
            New test
          </Act>
        </>
      }
    >
      {agent.allTests.totalCount === 0 && agent.testFolders.length === 0 ? (
        <Empty title="This agent has no tests.">
          <Link href={`/chats/new?agent=${agent.id}`}>Start a chat</Link> and create a test from it, or write one: a scenario for the contact, and criteria.
        </Empty>
      ) : (
        // The key keeps "Cancel" and "Retry" from acting on the previously shown execution.
        <Matrix
          key={executionId}
          agent={agent}
          list={list}
          executionId={executionId}
          show={params.get("show") ?? ""}
          folderId={params.get("folder") ?? ""}
          filter={set}
          ticked={ticked}
          setTicked={setTicked}
          edit={(id) => set("edit", id)}
          editFolder={setFolderId}
          onStarted={show}
          onEnded={refresh}
        />
      )}
      {executions.length > 0 && <Executions executions={executions} shownId={executionId} show={(id) => set("execution", id)} />}
      {folderId && (
        <FolderEditor agentId={agent.id} folder={agent.testFolders.find((folder) => folder.id === folderId)} reread={refresh} onClose={() => closeFolder(folderId)} />
      )}
      {isNew && <NewTest agent={agent} onClose={(opened) => closeEditor(null, opened)} />}
      {edited && <TestEditor key={edited} agent={agent} testId={edited} onClose={() => closeEditor(edited)} />}
    </Page>
  );
}
