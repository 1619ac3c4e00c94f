import { useState, type KeyboardEvent } from "react";
import { busiestOf, ticks, type Bar } from "../../logic/axis";
import { count, shortCredits, showCredits } from "../../ui/format";
import { Segment } from "../../ui/Segment";
import { useWidth } from "../../ui/useWidth";
import styles from "./Periods.module.css";

export type By = "month" | "week" | "day";

const titles: Record<By, string> = { month: "Months", week: "Weeks", day: "Days" };

/** Months, weeks or days, drawn as bars of channels, with a table of their numbers. */
export function Periods({ periods, by, choices, total, setBy }: { periods: readonly Bar[]; by: By; choices: readonly By[]; total: number; setBy: (by: By) => void }) {
  const channels = periods[0]?.byChannel.map(({ channel }) => channel) ?? [];
  return (
    <section className={styles.periods} aria-labelledby="periods-title">
      <header>
        <h2 id="periods-title">By {by}</h2>
        <span className="muted">{shortCredits(total)} credits</span>
        <span className="push" />
        <Segment label="Periods" options={choices.map((each) => [each, titles[each]] as const)} value={by} set={setBy} />
      </header>
      <ul className={styles.legend} aria-label="Channels">
        {channels.map((channel) => (
          <li key={channel} data-channel={channel}>
            {channel}
          </li>
        ))}
      </ul>
      <Chart periods={periods} by={by} />
      <details className={styles.numbers}>
        <summary>Show the numbers</summary>
        <Numbers periods={periods} by={by} channels={channels} />
      </details>
    </section>
  );
}

const height = 320;
const [left, top, bottom] = [48, 10, 40];
const plot = height - top - bottom;

function Chart({ periods, by }: { periods: readonly Bar[]; by: By }) {
  const [frame, width] = useWidth<HTMLDivElement>(640);
  const [at, setAt] = useState<number>();
  const values = ticks(Math.max(...periods.map(({ credits }) => credits)));
  const most = values.at(-1) ?? 1;
  const band = (width - left) / periods.length;
  const y = (value: number) => top + plot * (1 - value / most);
  const shown = at === undefined ? undefined : periods[at];
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") setAt(undefined);
    if (!step) return;
    event.preventDefault();
    setAt(Math.min(periods.length - 1, Math.max(0, (at ?? (step > 0 ? -1 : periods.length)) + step)));
  };
  const busiest = busiestOf(periods);
  if (!busiest) return null;
  return (
    <div
      ref={frame}
      className={styles.chart}
      role="group"
      tabIndex={0}
      aria-label={`Credits per ${by}. Highest: ${showCredits(busiest.credits)} (${longName(busiest.name, by)}). Use the arrow keys to read the values.`}
      onKeyDown={onKey}
      onBlur={() => setAt(undefined)}
      onPointerLeave={() => setAt(undefined)}
    >
      <svg width={width} height={height} aria-hidden="true">
        {values.map((value) => (
          <g key={value} className={styles.axis}>
            <line x1={left} x2={width} y1={y(value)} y2={y(value)} data-base={value === 0} />
            <text x={left - 8} y={y(value) + 4} textAnchor="end">
              {count(value)}
            </text>
          </g>
        ))}
        {periods.map((period, i) => (
          <g key={period.name} onPointerEnter={() => setAt(i)}>
            <rect x={left + i * band} width={band} y={top} height={plot} rx="4" className={styles.band} data-on={i === at} />
            {stacked(period).map(({ channel, from, credits }) => {
              const size = (plot * credits) / most;
              return credits > 0 ? (
                <rect key={channel} data-channel={channel} x={left + (i + 0.2) * band} width={band * 0.6} y={y(from + credits)} height={Math.max(size - (size > 3 ? 1 : 0), 0.5)} rx={Math.min(1.5, size / 3)} />
              ) : null;
            })}
          </g>
        ))}
        <Labels periods={periods} by={by} band={band} />
      </svg>
      {shown && at !== undefined && <Bubble period={shown} by={by} x={left + (at + 0.5) * band} width={width} />}
    </div>
  );
}

/** The names under the bars. Neighboring bars that are too narrow for names share one. */
function Labels({ periods, by, band }: { periods: readonly Bar[]; by: By; band: number }) {
  const every = Math.max(1, Math.ceil((by === "month" ? 34 : 46) / band));
  return periods.map((period, i) => {
    if (i % every !== 0) return null;
    const { name, year } = labelOf(period.name, by);
    const isNewYear = i === 0 || year !== labelOf(periods[i - every]?.name ?? "", by).year;
    return (
      <text key={period.name} className={styles.label} x={left + (i + 0.5) * band} y={height - bottom + 18} textAnchor="middle">
        {name}
        {by === "month" && isNewYear && (
          <tspan x={left + (i + 0.5) * band} dy="16">
            {year}
          </tspan>
        )}
      </text>
    );
  });
}

const monthName = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });
const dayName = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });
const longMonth = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
const longDay = new Intl.DateTimeFormat("en", { weekday: "short", month: "short", day: "numeric", year: "numeric", timeZone: "UTC" });

function labelOf(name: string, by: By): { name: string; year: string } {
  const date = new Date(name);
  return { name: (by === "month" ? monthName : dayName).format(date), year: name.slice(0, 4) };
}

function longName(name: string, by: By): string {
  const date = new Date(name);
  if (by === "month") return longMonth.format(date);
  return by === "week" ? `Week from ${dayName.format(date)}` : longDay.format(date);
}

function Bubble({ period, by, x, width }: { period: Bar; by: By; x: number; width: number }) {
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div className={styles.bubble} role="status" style={side}>
      <div>
        <b>{longName(period.name, by)}</b>
        <b>{showCredits(period.credits)}</b>
      </div>
      <dl>
        {period.byChannel.map(({ channel, credits }) => (
          <div key={channel}>
            <dt data-channel={channel}>{channel}</dt>
            <dd>{showCredits(credits)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Numbers({ periods, by, channels }: { periods: readonly Bar[]; by: By; channels: readonly string[] }) {
  return (
    <div className="card scroll" tabIndex={0} role="region" aria-label="Numbers">
      <table>
        <thead>
          <tr>
            <th scope="col">{titles[by].slice(0, -1)}</th>
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
  );
}

function stacked(period: Bar): { channel: string; from: number; credits: number }[] {
  let from = 0;
  return period.byChannel.map(({ channel, credits }) => {
    const part = { channel, from, credits };
    from += credits;
    return part;
  });
}
