import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { plural } from "../../ui/format";
import { Pick } from "../../ui/Pick";
import { errorText } from "../../ui/states";
import { toast } from "../../ui/toasts";
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
  const what = plural(ticked.size, "test");
  const tell = (done: string) => {
    toast(`${done} ${what}.`);
    onDone();
  };
  const moveTo = async (folderId: string) => {
    if (await move.run({ input: { testIds, folderId } })) tell("Moved");
  };
  const copyThem = async () => {
    if (await copy.run({ input: { testIds } })) tell("Copied");
  };
  const deleteThem = async () => {
    if (!(await ask({ title: `Delete ${what}?`, text: "Their runs are kept.", verb: `Delete ${what}`, isDangerous: true }))) return;
    if (await remove.run({ input: { testIds } })) tell("Deleted");
  };
  return (
    <>
      {error && (
        <span className="note bad" role="alert">
          {errorText(error)}
        </span>
      )}
      <Pick
        label="Move the selected tests"
        shown="Move to"
        options={[["", "…"], ...agent.testFolders.map(({ id, name }) => [`/${id}`, name] as const), ["/", "No folder"]]}
        value=""
        disabled={isBusy || !may("write")}
        set={(value) => void moveTo(value.slice(1))}
      />
      <Act scope="write" disabled={isBusy} onClick={() => void copyThem()}>
        Copy
      </Act>
      <Act scope="write" className="danger" disabled={isBusy} onClick={() => void deleteThem()}>
        Delete
      </Act>
    </>
  );
}
