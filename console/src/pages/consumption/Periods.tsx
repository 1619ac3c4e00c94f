import { showCredits } from "../../ui/format";
import styles from "./Periods.module.css";

export interface Period {
  name: string;
  credits: number;
  byChannel: { channel: string; credits: number }[];
}

/** More rows than this are folded away. */
const rowsShown = 12;

/** Months or days, drawn as bars of channels, with a table of their numbers. */
export function Periods({ periods, by, setBy }: { periods: Period[]; by: string; setBy: (by: string) => void }) {
  const channels = periods[0]?.byChannel.map(({ channel }) => channel) ?? [];
  return (
    <section className="card" aria-labelledby="periods-title">
      <header>
        <h2 id="periods-title">By {by}</h2>
        <span className="row tight" role="group" aria-label="Periods">
          {["month", "day"].map((each) => (
            <button key={each} type="button" aria-pressed={each === by} onClick={() => setBy(each)}>
              {each === "month" ? "Months" : "Days"}
            </button>
          ))}
        </span>
        <ul className={`row push small ${styles.legend}`} aria-label="Channels">
          {channels.map((channel) => (
            <li key={channel} data-channel={channel}>
              {channel}
            </li>
          ))}
        </ul>
      </header>
      <Drawing periods={periods} by={by} />
      <details open={periods.length <= rowsShown} className={styles.numbers}>
        <summary className="small">Table</summary>
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">{by === "month" ? "Month" : "Day"}</th>
                {channels.map((channel) => (
                  <th key={channel} scope="col" className="number wide">
                    {channel}
                  </th>
                ))}
                <th scope="col" className="number">
                  Credits
                </th>
              </tr>
            </thead>
            <tbody>
              {periods.map((period) => (
                <tr key={period.name}>
                  <th scope="row">{period.name}</th>
                  {period.byChannel.map(({ channel, credits }) => (
                    <td key={channel} className={`number wide ${credits === 0 ? "muted" : ""}`}>
                      {showCredits(credits)}
                    </td>
                  ))}
                  <td className="number">{showCredits(period.credits)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

const height = 140;

function Drawing({ periods, by }: { periods: Period[]; by: string }) {
  const most = Math.max(...periods.map((period) => period.credits), Number.MIN_VALUE);
  const busiest = periods.find((period) => period.credits === most);
  return (
    <figure className={styles.figure}>
      <svg
        viewBox={`0 0 ${periods.length} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Credits of each ${by}${busiest ? `; the most, ${showCredits(most)}, in ${busiest.name}` : ""}`}
      >
        {periods.map((period, i) => (
          <g key={period.name}>
            {stacked(period).map(({ channel, from, credits }) => (
              <rect
                key={channel}
                data-channel={channel}
                x={i + 0.12}
                width={0.76}
                y={height * (1 - (from + credits) / most)}
                height={(height * credits) / most}
              />
            ))}
            <rect x={i} width={1} y={0} height={height} className={styles.touch}>
              <title>{`${period.name}: ${showCredits(period.credits)}`}</title>
            </rect>
          </g>
        ))}
      </svg>
      <figcaption className="row between small muted">
        <span>{periods[0]?.name}</span>
        {busiest && (
          <span className="wide">
            at most {showCredits(most)}, in {busiest.name}
          </span>
        )}
        <span>{periods.length > 1 && periods.at(-1)?.name}</span>
      </figcaption>
    </figure>
  );
}

function stacked(period: Period): { channel: string; from: number; credits: number }[] {
  let from = 0;
  return period.byChannel.map(({ channel, credits }) => {
    const part = { channel, from, credits };
    from += credits;
    return part;
  });
}
