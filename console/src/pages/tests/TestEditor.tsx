import { useRef, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction, useConflict, usePage } from "../../api/page";
import { changesOf } from "../../logic/changes";
import { inWords, readValues, type TestValues } from "../../logic/testValues";
import { Act, may } from "../../ui/Act";
import { Conflict } from "../../ui/Conflict";
import { Dialog } from "../../ui/Dialog";
import { FormFailure } from "../../ui/Field";
import { Failure, Loading } from "../../ui/states";
import type { AgentOfTests } from "./AgentTests";
import { Obstacles } from "./Obstacles";
import { shown, TestFields } from "./TestFields";

const EditedTest = graphql(`
  query EditedTest($id: ID!, $seesContacts: Boolean!) {
    agentTest(id: $id) {
      __typename id name folderId updatedAt lastRunId obstacles
      ... on SimulationTest { scenario criteria criteriaWeights checks { description weight } maxTurns variables @include(if: $seesContacts) }
      ... on ClassificationTest { tagExpected }
    }
  }
`);

const CreateTest = graphql(`
  mutation CreateTest($input: CreateSimulationTestInput!) {
    createSimulationTest(input: $input) { agentTest { id name obstacles } }
  }
`);

const UpdateTest = graphql(`
  mutation UpdateTest($input: UpdateAgentTestInput!) {
    updateAgentTest(input: $input) { agentTest { __typename id name folderId updatedAt obstacles } }
  }
`);

const DeleteTest = graphql(`
  mutation DeleteTest($input: DeleteAgentTestInput!) {
    deleteAgentTest(input: $input) { deletedId }
  }
`);

type SavedTest = NonNullable<ResultOf<typeof EditedTest>["agentTest"]>;

/** Writes a new test. If it cannot be carried out, `onClose` is given its id, so that its editor says why. */
export function NewTest({ agent, onClose }: { agent: AgentOfTests; onClose: (opened?: string) => void }) {
  const create = useAction(CreateTest);
  const empty: TestValues = { name: "", folderId: "", scenario: "", criteria: [], maxTurns: 10, variables: {} };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { name, folderId, scenario = "", criteria = [], maxTurns, variables } = readValues(new FormData(event.currentTarget), empty);
    const made = await create.run({ input: { agentId: agent.id, name, folderId: folderId || null, scenario, criteria, maxTurns, variables } });
    const test = made?.createSimulationTest?.agentTest;
    if (test) onClose(test.obstacles.length > 0 ? test.id : undefined);
  };
  return (
    <Dialog title="New test" onClose={() => onClose()}>
      <form className="stack" onSubmit={submit}>
        <TestFields values={empty} agent={agent} isNew error={create.error} />
        <FormFailure error={create.error} shown={shown} />
        <div>
          <Act scope="write" type="submit" className="primary" disabled={create.isBusy}>
            Create test
          </Act>
        </div>
      </form>
    </Dialog>
  );
}

/** Changes a test, or deletes it. */
export function TestEditor({ agent, testId, onClose }: { agent: AgentOfTests; testId: string; onClose: () => void }) {
  const answer = usePage(EditedTest, { id: testId, seesContacts: may("contacts") }, { isFresh: true });
  const test = answer.data?.agentTest;
  // A new key fills the form with the test as it is now.
  const [round, setRound] = useState(0);
  return (
    <Dialog title="Test" onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!test && !answer.error && <Loading />}
      {test && <TestForm key={round} agent={agent} test={test} reread={answer.refresh} takeTheirs={() => setRound(round + 1)} onClose={onClose} />}
    </Dialog>
  );
}

function TestForm({ agent, test, reread, takeTheirs, onClose }: {
  agent: AgentOfTests;
  test: SavedTest;
  reread: () => void;
  takeTheirs: () => void;
  onClose: () => void;
}) {
  const [began] = useState(test);
  const before = valuesOf(began);
  const update = useAction(UpdateTest);
  const isForeign = useConflict(update.error, reread);
  const form = useRef<HTMLFormElement>(null);
  const store = async (expectedUpdatedAt: string) => {
    if (!form.current?.reportValidity()) return;
    const changes = changesOf(before, readValues(new FormData(form.current), before));
    const weights = changes?.criteria && { criteriaWeights: changes.criteria.map((criterion) => weightOf(test, criterion)) };
    if (!changes || (await update.run({ input: { testId: test.id, ...changes, ...weights, expectedUpdatedAt } }))) onClose();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(began.updatedAt);
  };
  return (
    <form ref={form} onSubmit={submit}>
      <fieldset className="stack" disabled={!may("write")}>
        <Obstacles of={test.obstacles} />
        <TestFields values={before} agent={agent} error={update.error} hasChecks={checksOf(test).length > 0} />
        <Checks checks={checksOf(test)} />
        {isForeign && (
          <Conflict
            what="test"
            theirs={changesOf(inWords(before, agent.testFolders), inWords(valuesOf(test), agent.testFolders))}
            save={() => void store(test.updatedAt)}
            take={takeTheirs}
          />
        )}
        {!isForeign && <FormFailure error={update.error} shown={shown} />}
        <div className="row">
          <Act scope="write" type="submit" className="primary" disabled={update.isBusy}>
            Save
          </Act>
          {test.lastRunId && <Link href={`/runs/${test.lastRunId}`}>Its last run</Link>}
          <Delete test={test} onDeleted={onClose} />
        </div>
      </fieldset>
    </form>
  );
}

function Delete({ test, onDeleted }: { test: SavedTest; onDeleted: () => void }) {
  const remove = useAction(DeleteTest);
  const deleteIt = async () => {
    if (!confirm(`Delete the test “${test.name}”? Its runs stay.`)) return;
    if (await remove.run({ input: { testId: test.id } })) onDeleted();
  };
  return (
    <>
      <Act scope="write" className="danger push" disabled={remove.isBusy} onClick={() => void deleteIt()}>
        Delete
      </Act>
      {remove.error && <Failure error={remove.error} />}
    </>
  );
}

/** What a criterion counts for. One whose words are the same still counts for what it did. */
function weightOf(test: SavedTest, criterion: string): number | null {
  return test.__typename === "SimulationTest" ? (test.criteriaWeights[test.criteria.indexOf(criterion)] ?? null) : null;
}

function checksOf(test: SavedTest) {
  return test.__typename === "SimulationTest" ? test.checks : [];
}

/** The checks of the test, to read. */
function Checks({ checks }: { checks: ReturnType<typeof checksOf> }) {
  if (checks.length === 0) return null;
  return (
    <div>
      <span>What the program checks</span>
      <ul>
        {checks.map((check, i) => (
          <li key={i}>
            {check.description}
            {check.weight !== null && <span className="muted small"> weight {check.weight}</span>}
          </li>
        ))}
      </ul>
      <span className="muted small">Checks are changed over the API or in files.</span>
    </div>
  );
}

function valuesOf(test: SavedTest): TestValues {
  const both = { name: test.name, folderId: test.folderId ?? "" };
  if (test.__typename === "ClassificationTest") return { ...both, tagExpected: test.tagExpected };
  const { scenario, criteria, maxTurns, variables } = test;
  return { ...both, scenario, criteria, maxTurns, variables };
}
