import { useRef, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { graphql, type ResultOf, type VariablesOf } from "../../api/graphql";
import { useAction, useConflict, usePage } from "../../api/page";
import { changesOf } from "../../logic/changes";
import { checkOf, rowOf } from "../../logic/checks";
import { inWords, readValues, type Persona, type TestValues } from "../../logic/testValues";
import { Act, may } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { Conflict } from "../../ui/Conflict";
import { Dialog } from "../../ui/Dialog";
import { FormFailure } from "../../ui/Field";
import { Failure, Loading } from "../../ui/states";
import type { AgentOfTests } from "./AgentTests";
import { Obstacles } from "./Obstacles";
import type { Suggestion } from "./CriteriaFields";
import { shown, TestFields } from "./TestFields";
import { TestRows } from "./TestRows";

const EditedCheck = graphql(`
  fragment EditedCheck on TestCheck @_unmask {
    weight
    expect {
      called { technicalName kind where { argument equals matches present } succeeded min max before }
      neverCalled { technicalName kind where { argument equals matches present } }
      says { text matches role turn } neverSays { text matches role turn }
      endedBy tag turnsAtMost durationAtMost firstTokenAtMost creditsAtMost resultJson { technicalName schema } extracts { name equals matches }
    }
  }
`);

const EditedTest = graphql(`
  query EditedTest($id: ID!, $seesContacts: Boolean!) {
    agentTest(id: $id) {
      __typename id name folderId updatedAt lastRunId obstacles rows @include(if: $seesContacts) { name values }
      ... on SimulationTest {
        scenario criteria criteriaWeights passAt judgeSees maxTurns variables @include(if: $seesContacts)
        persona @include(if: $seesContacts) { mood patience language knowledge } contactSays @include(if: $seesContacts)
        checks { ...EditedCheck }
        suggestedChecks { criterion check { description ...EditedCheck } }
      }
      ... on ClassificationTest { tagExpected }
    }
  }
`, [EditedCheck]);

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

/** Creates a test. If the test cannot be run, `onClose` receives its id, so that its editor shows the reason. */
export function NewTest({ agent, onClose }: { agent: AgentOfTests; onClose: (opened?: string) => void }) {
  const create = useAction(CreateTest);
  const empty: TestValues = {
    name: "", folderId: "", scenario: "", criteria: [], criteriaWeights: [], checks: [], passAt: 1, judgeSees: [], persona: {}, contactSays: [], maxTurns: 10, variables: {},
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { scenario = "", criteria = [], folderId, ...rest } = readValues(new FormData(event.currentTarget), empty);
    // By default, no call is real.
    const toolMocking = { sideEffects: "Deny" as const };
    const made = await create.run({ input: { agentId: agent.id, folderId: folderId || null, scenario, criteria, toolMocking, ...asInput(rest) } });
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
  const answer = usePage(EditedTest, { id: testId, seesContacts: may("contacts") }, { isFresh: true, keeps: true });
  const test = answer.data?.agentTest;
  // A new key resets the form to the current test.
  const [round, setRound] = useState(0);
  const [rowsStored, setRowsStored] = useState<Stored>();
  const noteRows = (from: string, to: string) => setRowsStored((old) => ({ from: old?.to === from ? old.from : from, to }));
  return (
    <Dialog title="Edit test" onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!test && !answer.error && <Loading />}
      {test && <TestRows test={test} reread={answer.refresh} onStored={noteRows} />}
      {test && <TestForm key={round} rowsStored={rowsStored} agent={agent} test={test} reread={answer.refresh} takeTheirs={() => setRound(round + 1)} onClose={onClose} />}
    </Dialog>
  );
}

/** The test's `updatedAt` before and after a change of only its rows. */
interface Stored {
  from: string;
  to: string;
}

function TestForm({ agent, test, rowsStored, reread, takeTheirs, onClose }: {
  rowsStored: Stored | undefined;
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
    const now = readValues(new FormData(form.current), before);
    const changes = changesOf(before, now);
    // Criteria without weights are all required.
    const weights = changes?.criteria && { criteriaWeights: now.criteriaWeights };
    if (!changes || (await update.run({ input: { testId: test.id, ...asInput(changes), ...weights, expectedUpdatedAt } }))) onClose();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(rowsStored?.from === began.updatedAt ? rowsStored.to : began.updatedAt);
  };
  return (
    <form ref={form} onSubmit={submit}>
      <fieldset className="stack" disabled={!may("write")}>
        <Obstacles of={test.obstacles} />
        <TestFields values={before} suggested={suggestionsOf(began)} agent={agent} error={update.error} />
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
          {test.lastRunId && <Link href={`/runs/${test.lastRunId}`}>Last run</Link>}
          <Delete test={test} onDeleted={onClose} />
        </div>
      </fieldset>
    </form>
  );
}

function Delete({ test, onDeleted }: { test: SavedTest; onDeleted: () => void }) {
  const remove = useAction(DeleteTest);
  const deleteIt = async () => {
    if (!(await ask({ title: `Delete ${test.name}?`, text: "The runs of the test are kept.", verb: "Delete test", isDangerous: true }))) return;
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

/** The values as the API takes them. */
function asInput<Values extends Partial<TestValues>>(values: Values) {
  const { checks, judgeSees, persona, ...rest } = values;
  return {
    ...rest,
    ...(checks && { checks: checks as InputOf<"checks"> }),
    ...(judgeSees && { judgeSees: judgeSees as InputOf<"judgeSees"> }),
    ...(persona && { persona: persona as InputOf<"persona"> }),
  };
}

type InputOf<Name extends keyof VariablesOf<typeof UpdateTest>["input"]> = NonNullable<VariablesOf<typeof UpdateTest>["input"][Name]>;

function valuesOf(test: SavedTest): TestValues {
  const both = { name: test.name, folderId: test.folderId ?? "" };
  if (test.__typename === "ClassificationTest") return { ...both, tagExpected: test.tagExpected };
  const { scenario, criteria, criteriaWeights, checks, passAt, judgeSees, persona, contactSays, maxTurns, variables } = test;
  return {
    ...both, scenario, criteria, criteriaWeights: criteriaWeights.some(Boolean) ? criteria.map((_, i) => criteriaWeights[i] ?? null) : [],
    checks: checks.map(rowOf).flatMap((row) => checkOf(row) ?? []), passAt: passAt ?? 1, judgeSees,
    // Without the scope contacts these values are not readable, so they are not sent.
    persona: persona === undefined ? undefined : personaOf(persona), contactSays, maxTurns, variables,
  };
}

/** The checks that could replace criteria, by the text of the criterion. */
function suggestionsOf(test: SavedTest): readonly Suggestion[] {
  if (test.__typename === "ClassificationTest") return [];
  return test.suggestedChecks.map(({ criterion, check: { description, ...check } }) => ({ criterion: test.criteria[criterion] ?? "", description, row: rowOf(check) }));
}

function personaOf(persona: NonNullable<Extract<SavedTest, { __typename: "SimulationTest" }>["persona"]> | null): Persona {
  return Object.fromEntries(Object.entries(persona ?? {}).filter(([name, value]) => name !== "__typename" && value !== null));
}
