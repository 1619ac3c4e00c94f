import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useHere } from "../../api/page";
import { Act } from "../../ui/Act";
import { Avatar } from "../../ui/Avatar";
import { Find } from "../../ui/Find";
import { count, plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Page } from "../../ui/Page";
import { Pick } from "../../ui/Pick";
import { Segment } from "../../ui/Segment";
import { Empty } from "../../ui/states";
import { AgentFrame } from "../agent/AgentFrame";
import { BulkButtons } from "./BulkButtons";
import { Executions } from "./Executions";
import { FolderEditor } from "./FolderEditor";
import { JudgeCard } from "./JudgeCard";
import { Matrix } from "./Matrix";
import { Estimate, RunButton, RunPicks, type RunChoice } from "./RunButtons";
import { NewTest, TestEditor } from "./TestEditor";
import { TryVariants } from "./TryVariants";
import { useTests } from "./useTests";

export const TestsQuery = graphql(`
  query Tests($agentId: ID!, $folderId: ID, $first: Int!, $after: String) {
    agent(id: $agentId) {
      id name channel direction language tags promptVersion knowledgeBaseChatId
      tools { id }
      subAgents { id }
      simulationChats(first: 1) { totalCount }
      redTests: tests(first: 1, filter: { lastRunStatuses: [Failed, Error] }) { totalCount }
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
          history(first: 20, isDraft: false) { id status promptVersion }
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

/** An agent's tests, with the result of each attempt of an execution. As a tab they are on the agent's page. */
export function AgentTests({ agent, isTab, refresh: refreshFirst }: { agent: AgentOfTests; isTab: boolean; refresh: () => void }) {
  const [params, setParams] = useSearchParams();
  const [find, setFind] = useState("");
  const [choice, setChoice] = useState<RunChoice>({ repeats: 5, stopping: "all" });
  const list = useTests(agent, params.get("folder"), Boolean(params.get("show") || find));
  const refresh = () => {
    refreshFirst();
    list.refresh();
  };
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [isNew, setNew] = useState(false);
  const [isComparing, setComparing] = useState(false);
  /** The id of the folder that is edited, or "new". */
  const [folderId, setFolderId] = useState<string>();
  const executions = agent.testExecutions.nodes;
  const executionId = params.get("execution") ?? (executions.find((each) => !each.rejudgeOfId && !each.isDraft) ?? executions[0])?.id;
  const isRunning = executions.some(({ id, status }) => id === executionId && ["Queued", "Running", "Cancelling"].includes(status));
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
  /** Closes the editor of a test (null: of a new one), unless another editor has been opened since. */
  const closeEditor = (of: string | null, opened?: string) => {
    if (of === null) setNew(false);
    if (editedNow.current === of && of !== (opened ?? null)) set("edit", opened);
    refresh();
  };
  // The estimate is asked for when somebody is about to start tests.
  const [isNear, setNear] = useState(false);
  const near = { onPointerEnter: () => setNear(true), onFocus: () => setNear(true) };
  const isEmpty = agent.allTests.totalCount === 0;
  const actions = (
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
      <Act scope="write" onClick={() => setNew(true)}>
        <Icon name="plus" />
        New test
      </Act>
      {!isEmpty && (
        <Act scope="simulate" className="wide" onClick={() => setComparing(true)}>
          <Icon name="updown" />
          Compare
        </Act>
      )}
      <span {...near}>
        <RunButton agentId={agent.id} isEmpty={isEmpty} isRunning={isRunning} ticked={ticked} choice={choice} onStarted={show} />
      </span>
    </>
  );
  return (
    <Frame agent={agent} isTab={isTab} actions={actions} createFolder={() => setFolderId("new")} compare={isEmpty ? undefined : () => setComparing(true)}>
      {isEmpty && agent.testFolders.length === 0 ? (
        <NoTests agentId={agent.id} create={() => setNew(true)} />
      ) : (
        <>
          <Filters agent={agent} show={params.get("show") ?? ""} folderId={params.get("folder") ?? ""} filter={set} setFind={setFind}>
            <span role="status" className="unseen">
              {ticked.size > 0 && `${plural(ticked.size, "test")} selected`}
            </span>
            <span className="row" {...near}>
              <RunPicks choice={choice} set={setChoice} />
            </span>
          </Filters>
          {!isEmpty && !isRunning && (
            <Estimate isAsked={isNear || ticked.size > 0} tests={ticked.size || agent.allTests.totalCount} agentId={agent.id} ticked={ticked} choice={choice} />
          )}
          {/* The key keeps "Stop" and "Retry" from acting on the previously shown execution. */}
          <Matrix
            key={executionId}
            agent={agent}
            list={list}
            executionId={executionId}
            show={params.get("show") ?? ""}
            folderId={params.get("folder") ?? ""}
            find={find}
            ticked={ticked}
            setTicked={setTicked}
            edit={(id) => set("edit", id)}
            editFolder={setFolderId}
            onStarted={show}
            onEnded={refresh}
          />
        </>
      )}
      {executions.length > 0 && <Executions executions={executions} total={agent.testExecutions.totalCount} shownId={executionId} show={(id) => set("execution", id)} />}
      {executions.length > 0 && <JudgeCard agentId={agent.id} />}
      {folderId && (
        <FolderEditor agentId={agent.id} folder={agent.testFolders.find((folder) => folder.id === folderId)} reread={refresh} onClose={() => closeFolder(folderId)} />
      )}
      {isComparing && (
        <TryVariants agentId={agent.id} ticked={ticked} choice={choice} onClose={() => setComparing(false)} />
      )}
      {isNew && <NewTest agent={agent} onClose={(opened) => closeEditor(null, opened)} />}
      {edited && <TestEditor key={edited} agent={agent} testId={edited} onClose={() => closeEditor(edited)} />}
    </Frame>
  );
}

function Frame({ agent, isTab, actions, createFolder, compare, children }: {
  agent: AgentOfTests;
  isTab: boolean;
  actions: ReactNode;
  createFolder: () => void;
  /** Undefined if there is nothing to compare. */
  compare: (() => void) | undefined;
  children: ReactNode;
}) {
  const more = (
    <>
      {compare && (
        <Act scope="simulate" className="narrow" onClick={compare}>
          Compare
        </Act>
      )}
      <Act scope="write" onClick={createFolder}>
        <Icon name="plus" />
        New folder
      </Act>
      <Link href={`/schedules?agent=${agent.id}`}>
        <Icon name="clock" />
        Schedules
      </Link>
      {!isTab && (
        <Link href={`/agents/${agent.id}`}>
          <Icon name="agents" />
          Open the agent
        </Link>
      )}
    </>
  );
  if (isTab) {
    return (
      <AgentFrame agent={agent} tab="tests" isQuiet actions={actions} more={more}>
        {children}
      </AgentFrame>
    );
  }
  return (
    <Page title={agent.name} name={`Tests of ${agent.name}`} face={<Avatar agent={agent} />} crumbs={[{ to: "/tests", text: "Tests" }]} actions={actions} more={more}>
      {children}
    </Page>
  );
}

function NoTests({ agentId, create }: { agentId: string; create: () => void }) {
  return (
    <Empty
      icon="tests"
      title="No tests yet"
      action={
        <Act scope="write" onClick={create}>
          <Icon name="plus" />
          New test
        </Act>
      }
    >
      A test talks to the agent and checks what it says. Write one, or <Link href={`/chats/new?agent=${agentId}`}>start a chat</Link> and create a test from it.
    </Empty>
  );
}

function Filters({ agent, show, folderId, filter, setFind, children }: {
  agent: AgentOfTests;
  show: string;
  /** The id of the only folder that is shown; empty for all. */
  folderId: string;
  filter: (name: "show" | "folder", value: string) => void;
  setFind: (text: string) => void;
  children: ReactNode;
}) {
  return (
    <div className="toolbar">
      <Segment
        label="Show"
        options={[
          ["", `All ${count(agent.allTests.totalCount)}`],
          ["notpassed", "Failing"],
          ["flaky", "Flaky"],
        ]}
        value={show}
        set={(value) => filter("show", value)}
      />
      <Find label="Find a test" set={setFind} />
      {agent.testFolders.length > 0 && (
        <Pick label="Folder" options={[["", "Any"], ...agent.testFolders.map(({ id, name }) => [id, name] as const)]} value={folderId} set={(value) => filter("folder", value)} />
      )}
      <span className="push" />
      {children}
    </div>
  );
}
