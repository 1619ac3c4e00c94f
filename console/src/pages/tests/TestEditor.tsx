import type { FormEvent } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { Failure } from "../../ui/states";
import type { AgentOfTests, TestRow } from "./AgentTests";

const CreateTest = graphql(`
  mutation CreateTest($input: CreateSimulationTestInput!) {
    createSimulationTest(input: $input) { agentTest { id name } }
  }
`);

const UpdateTest = graphql(`
  mutation UpdateTest($input: UpdateAgentTestInput!) {
    updateAgentTest(input: $input) {
      agentTest { __typename id name folderId ... on SimulationTest { scenario criteria criteriaWeights checks { description weight } maxTurns } ... on ClassificationTest { tagExpected } }
    }
  }
`);

const DeleteTest = graphql(`
  mutation DeleteTest($input: DeleteAgentTestInput!) {
    deleteAgentTest(input: $input) { deletedId }
  }
`);

/** Creates or changes a test. */
export function TestEditor({ agent, test, onClose }: { agent: AgentOfTests; test: TestRow | undefined; onClose: () => void }) {
  const create = useAction(CreateTest);
  const update = useAction(UpdateTest);
  const remove = useAction(DeleteTest);
  const error = create.error ?? update.error ?? remove.error;
  const isClassification = test?.__typename === "ClassificationTest";
  const simulation = test?.__typename === "SimulationTest" ? test : undefined;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const both = { name: text("name"), folderId: text("folder") || null };
    const criteria = text("criteria").split("\n").map((line) => line.trim()).filter(Boolean);
    const said = {
      scenario: text("scenario"),
      criteria,
      // A criterion whose words are the same still counts for what it did.
      criteriaWeights: criteria.map((criterion) => simulation?.criteriaWeights[simulation.criteria.indexOf(criterion)] ?? null),
      maxTurns: Number(text("maxTurns")),
    };
    const saved = test
      ? await update.run({ input: { testId: test.id, ...both, ...(isClassification ? { tagExpected: text("tagExpected") } : said) } })
      : await create.run({ input: { agentId: agent.id, ...both, ...said } });
    if (saved) onClose();
  };
  return (
    <Dialog title={test ? "Test" : "New test"} onClose={onClose}>
      <form onSubmit={submit}>
        <fieldset className="stack" disabled={!may("write")}>
          <div className="field">
            <label htmlFor="test-name">Name</label>
            <input id="test-name" name="name" required defaultValue={test?.name} autoFocus={!test} />
          </div>
          {isClassification ? (
            <div className="field">
              <label htmlFor="test-tag">The tag that the conversation must get</label>
              <input id="test-tag" name="tagExpected" required defaultValue={test.tagExpected} />
            </div>
          ) : (
            <>
              <div className="field">
                <label htmlFor="test-scenario">What the contact does</label>
                <textarea id="test-scenario" name="scenario" required rows={5} defaultValue={simulation?.scenario} />
              </div>
              <div className="field">
                <label htmlFor="test-criteria">What must hold, one criterion in a line</label>
                <textarea
                  id="test-criteria"
                  name="criteria"
                  required={!simulation?.checks.length}
                  rows={4}
                  aria-describedby="test-criteria-hint"
                  defaultValue={simulation?.criteria.join("\n")}
                />
                <span id="test-criteria-hint" className="muted small">
                  Such as <code>says "two hours"</code>, <code>never says "refund"</code>, <code>calls book_appointment</code>.
                </span>
              </div>
              {simulation && simulation.checks.length > 0 && (
                <div className="field">
                  <span>What the program checks</span>
                  <ul>
                    {simulation.checks.map((check, i) => (
                      <li key={i}>
                        {check.description}
                        {check.weight !== null && <span className="muted small"> weight {check.weight}</span>}
                      </li>
                    ))}
                  </ul>
                  <span className="muted small">Checks are changed over the API or in files.</span>
                </div>
              )}
              <div className="field">
                <label htmlFor="test-turns">Turns at most</label>
                <input id="test-turns" name="maxTurns" type="number" min={1} max={50} required defaultValue={simulation?.maxTurns ?? 10} />
              </div>
            </>
          )}
          <div className="field">
            <label htmlFor="test-folder">Folder</label>
            <select id="test-folder" name="folder" defaultValue={test?.folderId ?? ""}>
              <option value="">No folder</option>
              {agent.testFolders.map((folder) => (
                <option key={folder.id} value={folder.id}>
                  {folder.name}
                </option>
              ))}
            </select>
          </div>
          {error && <Failure error={error} />}
          <div className="row">
            <Act scope="write" type="submit" className="primary" disabled={create.isBusy || update.isBusy}>
              {test ? "Save" : "Create test"}
            </Act>
            {test && (
              <Act
                scope="write"
                className="danger push"
                onClick={() => {
                  if (confirm(`Delete the test “${test.name}”? Its runs stay.`)) void remove.run({ input: { testId: test.id } }).then((done) => done && onClose());
                }}
              >
                Delete
              </Act>
            )}
          </div>
        </fieldset>
      </form>
      {test?.lastRunId && (
        <p className="small">
          <Link href={`/runs/${test.lastRunId}`}>Its last run</Link>
        </p>
      )}
    </Dialog>
  );
}
