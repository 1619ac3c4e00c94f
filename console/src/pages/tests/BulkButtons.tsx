import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { plural } from "../../ui/format";
import { errorText } from "../../ui/states";
import type { AgentOfTests } from "./AgentTests";

const MoveTests = graphql(`
  mutation MoveTests($input: MoveAgentTestsInput!) {
    moveAgentTests(input: $input) { agentTests { __typename id folderId } }
  }
`);

const CopyTests = graphql(`
  mutation CopyTests($input: CopyAgentTestsInput!) {
    copyAgentTests(input: $input) { agentTests { __typename id } }
  }
`);

const DeleteTests = graphql(`
  mutation DeleteTests($input: DeleteAgentTestsInput!) {
    deleteAgentTests(input: $input) { deletedIds }
  }
`);

/** Moves, copies or deletes the selected tests. */
export function BulkButtons({ agent, ticked, onDone }: { agent: AgentOfTests; ticked: ReadonlySet<string>; onDone: () => void }) {
  const [move, copy, remove] = [useAction(MoveTests), useAction(CopyTests), useAction(DeleteTests)];
  const error = move.error ?? copy.error ?? remove.error;
  const isBusy = move.isBusy || copy.isBusy || remove.isBusy;
  const testIds = [...ticked];
  const moveTo = async (folderId: string) => {
    if (await move.run({ input: { testIds, folderId } })) onDone();
  };
  const copyThem = async () => {
    if (await copy.run({ input: { testIds } })) onDone();
  };
  const deleteThem = async () => {
    if (!confirm(`Delete ${plural(ticked.size, "test")}? Their runs are kept.`)) return;
    if (await remove.run({ input: { testIds } })) onDone();
  };
  return (
    <>
      {error && (
        <span className="note bad" role="alert">
          {errorText(error)}
        </span>
      )}
      <select aria-label="Move the selected tests" value="" disabled={isBusy || !may("write")} onChange={(event) => void moveTo(event.target.value.slice(1))}>
        <option value="">Move to …</option>
        {agent.testFolders.map((folder) => (
          <option key={folder.id} value={`/${folder.id}`}>
            {folder.name}
          </option>
        ))}
        <option value="/">No folder</option>
      </select>
      <Act scope="write" disabled={isBusy} onClick={() => void copyThem()}>
        Copy
      </Act>
      <Act scope="write" className="danger" disabled={isBusy} onClick={() => void deleteThem()}>
        Delete
      </Act>
    </>
  );
}
