import type { CombinedError } from "@urql/core";
import { useState } from "react";
import { useClient } from "urql";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act } from "../../ui/Act";
import { Failure } from "../../ui/states";

const KeepAnswer = graphql(`
  mutation KeepAnswer($input: AddLabelledQuestionsInput!) {
    addLabelledQuestions(input: $input) { labelledQuestions { id } }
  }
`);

const DatasetOfDocument = graphql(`
  query DatasetOfDocument($id: ID!) {
    document(id: $id) { id datasetId }
  }
`);

/** The maximum length of a question or a passage, in characters. */
const maxText = 2_000;

/** Saves a question with the chunk that answers it, to measure retrieval. */
export function RightAnswer({ question, documentId, passage }: { question: string; documentId: string; passage: string }) {
  const client = useClient();
  const keep = useAction(KeepAnswer);
  const [isKept, setKept] = useState(false);
  const [isGone, setGone] = useState(false);
  const [unread, setUnread] = useState<CombinedError>();
  const keepIt = async () => {
    const read = await client.query(DatasetOfDocument, { id: documentId }).toPromise();
    const datasetId = read.data?.document?.datasetId;
    setUnread(read.error);
    setGone(!datasetId && !read.error);
    if (!datasetId) return;
    const labelled = { question: question.slice(0, maxText), documentId, passage: passage.slice(0, maxText).trim() || null };
    if (await keep.run({ input: { datasetId, questions: [labelled] } })) setKept(true);
  };
  return (
    <>
      {unread && <Failure error={unread} />}
      {keep.error && <Failure error={keep.error} />}
      {isGone && <span className="note bad">The document no longer exists.</span>}
      <Act scope="write" className="plain small" disabled={keep.isBusy || isKept} onClick={() => void keepIt()}>
        {isKept ? "Saved as the right answer" : "This answers it"}
      </Act>
    </>
  );
}
