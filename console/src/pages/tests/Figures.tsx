import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { usePage } from "../../api/page";
import { percent } from "../../ui/format";
import { Failure, Loading } from "../../ui/states";

const FiguresQuery = graphql(`
  query JudgeFigures($agentId: ID!) {
    judgeFigures(agentId: $agentId) {
      judgeModel judgePrompt criterion labels people kappa peopleKappa isWorseThanPeople
      agreement { share interval { low high } }
      falsePasses { count of interval { low high } }
      falseFailures { count of interval { low high } }
      disagreements { runId criterion passed run { id testName } labels { id person note } }
    }
  }
`);

type Figure = NonNullable<ResultOf<typeof FiguresQuery>["judgeFigures"]>[number];

/** How well each judge of an agent's tests agrees with people. */
export function Figures({ agentId }: { agentId: string }) {
  const answer = usePage(FiguresQuery, { agentId }, { isFresh: true });
  const figures = answer.data?.judgeFigures;
  if (answer.error) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!figures) return <Loading />;
  if (figures.length === 0) return <p className="body muted">Nobody has labeled a verdict. With 20 labels, pass rates are corrected for the judge's errors.</p>;
  return (
    <>
      {figures.filter((figure) => figure.isWorseThanPeople).map((figure) => (
        <p key={keyOf(figure)} className="note warn">
          {figure.judgeModel ?? "The judge"} agrees less with people than people agree with each other{figure.criterion && `: ${figure.criterion}`}
        </p>
      ))}
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Judge and criterion</th>
              <th scope="col" className="number">Labels</th>
              <th scope="col" className="number">Agrees</th>
              <th scope="col" className="number wide" title="Cohen's kappa of judge and people, and of people among themselves">Kappa, people's</th>
              <th scope="col" className="number wide">Wrongly passed</th>
              <th scope="col" className="number wide">Wrongly failed</th>
            </tr>
          </thead>
          <tbody>
            {figures.map((figure) => (
              <tr key={keyOf(figure)}>
                <th scope="row" className={figure.criterion ? "muted small" : undefined}>
                  {figure.criterion ?? `${figure.judgeModel ?? "Not recorded"}${figure.judgePrompt ? `, instructions ${figure.judgePrompt}` : ""}`}
                </th>
                <td className="number">{figure.labels}</td>
                <td className="number">{figure.agreement.share === null ? "–" : percent(figure.agreement.share)}</td>
                <td className="number wide">
                  {kappa(figure.kappa)}, {kappa(figure.peopleKappa)}
                </td>
                <td className="number wide">{counted(figure.falsePasses)}</td>
                <td className="number wide">{counted(figure.falseFailures)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Disagreements figures={figures} />
    </>
  );
}

function Disagreements({ figures }: { figures: readonly Figure[] }) {
  const wrong = figures.filter((figure) => figure.criterion === null).flatMap((figure) => figure.disagreements);
  if (wrong.length === 0) return null;
  return (
    <ul className="body stack tight small" aria-label="Wrong verdicts">
      {wrong.map((each) => (
        <li key={`${each.runId} ${each.criterion}`}>
          <Link href={`/runs/${each.runId}`}>{each.run.testName}</Link>: {each.criterion}.{" "}
          <span className="muted">
            The judge says {each.passed ? "passed" : "failed"}
            {each.labels.flatMap((label) => (label.note ? [`; ${label.person}: “${label.note}”`] : []))}
          </span>
        </li>
      ))}
    </ul>
  );
}

const keyOf = (figure: Figure) => `${figure.judgeModel} ${figure.judgePrompt} ${figure.criterion}`;

const kappa = (value: number | null) => (value === null ? "–" : value.toFixed(2));

function counted({ count, of, interval }: Figure["falsePasses"]): string {
  if (!interval) return "–";
  return `${count} of ${of} (${Math.round(100 * interval.low)}–${Math.round(100 * interval.high)} %)`;
}
