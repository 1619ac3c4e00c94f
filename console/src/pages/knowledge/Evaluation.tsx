import type { CombinedError } from "@urql/core";
import { useState } from "react";
import { useClient } from "urql";
import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { readCSV } from "../../logic/csv";
import { decodeText } from "../../logic/encoding";
import { may } from "../../ui/Act";
import { FileDrop } from "../../ui/FileDrop";
import { plural } from "../../ui/format";
import { Failure } from "../../ui/states";

const EvaluateQuery = graphql(`
  query EvaluateRetrieval($id: ID!, $settings: PromptSettingsInput, $after: ID) {
    evaluateRetrieval(knowledgeBaseChatId: $id, settings: $settings, after: $after) {
      totalCount askedCount firstHitCount hitCount reciprocalRankSum endCursor
      questions {
        rank reason
        labelledQuestion { id question documentId documentName passage }
        found { position content score document { id name } }
      }
    }
  }
`);

const AddQuestions = graphql(`
  mutation AddLabelledQuestions($input: AddLabelledQuestionsInput!) {
    addLabelledQuestions(input: $input) { labelledQuestions { id } }
  }
`);

const DeleteQuestions = graphql(`
  mutation DeleteLabelledQuestions($input: DeleteLabelledQuestionsInput!) {
    deleteLabelledQuestions(input: $input) { deletedIds }
  }
`);

/** How many questions one request adds. */
const perRequest = 100;

type Page = NonNullable<ResultOf<typeof EvaluateQuery>["evaluateRetrieval"]>;
type Evaluated = Page["questions"][number];
interface Measured {
  asked: number;
  first: number;
  hits: number;
  reciprocal: number;
  questions: Evaluated[];
}

interface Props {
  chatId: string;
  datasets: readonly { id: string; name: string }[];
  /** The settings that are tried. */
  tried: Record<string, number>;
}

/** Measures retrieval with labeled questions, with the saved settings and with the tried ones. */
export default function Evaluation({ chatId, datasets, tried }: Props) {
  const client = useClient();
  const [before, setBefore] = useState<Measured>();
  const [after, setAfter] = useState<Measured>();
  const [progress, setProgress] = useState<string>();
  const [error, setError] = useState<CombinedError>();
  const isTried = Object.keys(tried).length > 0;
  const measure = async (settings: Record<string, number> | undefined, label: string) => {
    const all: Measured = { asked: 0, first: 0, hits: 0, reciprocal: 0, questions: [] };
    for (let cursor: string | null = null, isFirst = true; isFirst || cursor; isFirst = false) {
      const answer: { data?: ResultOf<typeof EvaluateQuery>; error?: CombinedError } = await client
        .query(EvaluateQuery, { id: chatId, settings, after: cursor }, { requestPolicy: "network-only" })
        .toPromise();
      const page: Page | null | undefined = answer.data?.evaluateRetrieval;
      if (!page) {
        setError(answer.error);
        return undefined;
      }
      all.asked += page.askedCount;
      all.first += page.firstHitCount;
      all.hits += page.hitCount;
      all.reciprocal += page.reciprocalRankSum;
      all.questions.push(...page.questions);
      setProgress(`${label}: ${all.asked} of ${page.totalCount} asked`);
      cursor = page.endCursor;
    }
    return all;
  };
  const run = async () => {
    setError(undefined);
    setAfter(undefined);
    const saved = await measure(undefined, "Saved settings");
    setBefore(saved);
    if (saved && isTried) setAfter(await measure(tried, "Tried settings"));
    setProgress(undefined);
  };
  return (
    <section className="card">
      <header>
        <h2>Questions with known answers</h2>
        <span className="push">
          <button type="button" disabled={!!progress} onClick={() => void run()}>
            {isTried ? "Measure saved and tried settings" : "Measure"}
          </button>
        </span>
      </header>
      <div className="body stack">
        {progress && <p role="status">{progress}</p>}
        {error && <Failure error={error} />}
        {!before && !progress && (
          <p className="muted">Each question is asked as a contact would ask it, and the results are compared with the right answer. Mark the chunk that answers a question to add it, or import a file.</p>
        )}
        {before && before.asked === 0 && <p className="note">No questions yet: ask one above and mark the chunk that answers it, or import a file.</p>}
        {before && before.asked > 0 && <Figures before={before} after={after} />}
        {before && before.asked > 0 && <Missed measured={after ?? before} before={after && before} datasets={datasets} reread={() => void run()} />}
        {may("write") && <Import datasets={datasets} reread={() => void run()} />}
      </div>
    </section>
  );
}

function Figures({ before, after }: { before: Measured; after: Measured | undefined }) {
  const share = (value: number, of: Measured) => (value / of.asked).toFixed(3);
  const rows = [
    ["First result is right (hit@1)", (m: Measured) => share(m.first, m)],
    ["Right result in the first six (hit@6)", (m: Measured) => share(m.hits, m)],
    ["Mean reciprocal rank", (m: Measured) => share(m.reciprocal, m)],
  ] as const;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Of {plural(before.asked, "question")}</th>
          <th scope="col" className="number">
            Saved settings
          </th>
          {after && (
            <th scope="col" className="number">
              Tried settings
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(([label, of]) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td className="number">{of(before)}</td>
            {after && <td className="number">{of(after)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface MissedProps {
  measured: Measured;
  /** The measurement with the saved settings, if tried ones are shown. */
  before: Measured | undefined;
  datasets: Props["datasets"];
  reread: () => void;
}

/** The questions whose first chunk is not the right one. */
function Missed({ measured, before, datasets, reread }: MissedProps) {
  const missed = measured.questions.filter(({ rank }) => rank !== 1);
  if (missed.length === 0) return <p className="note good">The first result is right for each question.</p>;
  const place = (rank: number | null) => (rank === null ? "missed" : `rank ${rank}`);
  return (
    <ol className="stack" aria-label="Questions whose first result is wrong">
      {missed.map(({ labelledQuestion: question, rank, reason, found }) => {
        const was = before?.questions.find((other) => other.labelledQuestion.id === question.id);
        return (
          <li key={question.id}>
            <strong>{question.question}</strong>{" "}
            <span className="muted">
              {place(rank)}
              {was && was.rank !== rank && ` (saved settings: ${place(was.rank)})`}
            </span>
            <div className="small">
              Expected <Link href={`/knowledge/documents/${question.documentId}`}>{question.documentName}</Link>
              {question.passage && <>: “{inShort(question.passage)}”</>}. {reason && `Why: ${reason}.`}
            </div>
            {found[0] && (
              <div className="small muted">
                Found instead: {found[0].document.name}, chunk {found[0].position + 1}, {found[0].score.toFixed(3)}: “{inShort(found[0].content)}”
              </div>
            )}
            <Remove id={question.id} datasets={datasets} reread={reread} />
          </li>
        );
      })}
    </ol>
  );
}

function inShort(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/** Deletes a question from the dataset that has it. */
function Remove({ id, datasets, reread }: { id: string; datasets: Props["datasets"]; reread: () => void }) {
  const remove = useAction(DeleteQuestions);
  if (!may("write")) return null;
  const deleteIt = async () => {
    for (const dataset of datasets) {
      const deleted = await remove.run({ input: { datasetId: dataset.id, ids: [id] } });
      if (!deleted || deleted.deleteLabelledQuestions?.deletedIds.length) break;
    }
    reread();
  };
  return (
    <>
      {remove.error && <Failure error={remove.error} />}
      <button type="button" className="plain small" disabled={remove.isBusy} onClick={() => void deleteIt()}>
        Delete this question
      </button>
    </>
  );
}

/** Adds the questions of a CSV file with the columns question, document and, optionally, passage. */
function Import({ datasets, reread }: { datasets: Props["datasets"]; reread: () => void }) {
  const add = useAction(AddQuestions);
  const [dataset, setDataset] = useState(datasets[0]?.id ?? "");
  const [fault, setFault] = useState<string>();
  const read = async (file: File | undefined) => {
    if (!file) return;
    setFault(undefined);
    try {
      const [, ...records] = readCSV(decodeText(new Uint8Array(await file.arrayBuffer())));
      const questions = records.map(({ values: [question = "", documentName = "", passage = ""] }) => ({ question, documentName, passage: passage || null }));
      for (let at = 0; at < questions.length; at += perRequest) {
        if (!(await add.run({ input: { datasetId: dataset, questions: questions.slice(at, at + perRequest) } }))) return;
      }
      reread();
    } catch (thrown) {
      setFault(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  if (datasets.length === 0) return null;
  return (
    <div className="row small">
      <FileDrop
        label="A CSV file of questions"
        button="Import CSV"
        accept=".csv,text/csv"
        disabled={add.isBusy}
        hint="Its columns are question, document and passage."
        onFiles={([file]) => void read(file)}
      />
      {datasets.length > 1 && (
        <select aria-label="Dataset to import into" value={dataset} onChange={(event) => setDataset(event.target.value)}>
          {datasets.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      {fault && <p className="note bad">{fault}</p>}
      {add.error && <Failure error={add.error} />}
    </div>
  );
}
