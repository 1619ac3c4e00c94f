import { Link } from "wouter";
import { atThisPace } from "../../logic/credits";
import { shortCredits } from "../../ui/format";
import styles from "../Home.module.css";
import type { HomeData } from "./query";

const weekday = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" });

/** The credits of today, of the last two weeks, and of the plan's month. Days are UTC days. */
export function Credits({ data }: { data: HomeData }) {
  const days = data.consumptionBreakdown?.byDay;
  const today = days?.at(-1);
  if (!days || !today) return null;
  const most = Math.max(...days.map(({ credits }) => credits), Number.MIN_VALUE);
  return (
    <section className={styles.section}>
      <header>
        <h2>Credits today</h2>
        <Link href="/consumption">Consumption</Link>
      </header>
      <div className="row">
        <span className={styles.big}>{shortCredits(today.credits)}</span>
        <span className="muted small">{`${shortCredits(days.at(-8)?.credits ?? 0)} last ${weekday.format(new Date(today.day))}`}</span>
      </div>
      <svg className={styles.spark} viewBox={`0 0 ${days.length} 44`} preserveAspectRatio="none" role="img" aria-label={`Credits of the last ${days.length} days`}>
        {days.map(({ day, credits }, i) => {
          const height = Math.max(1, (42 * credits) / most);
          return <rect key={day} x={i} width={0.84} y={44 - height} height={height} />;
        })}
      </svg>
      <Plan data={data} />
    </section>
  );
}

function Plan({ data }: { data: HomeData }) {
  const plan = data.company.subscription;
  if (!plan) return null;
  const pace = atThisPace(plan.creditsUsed, plan.periodStart, plan.periodEnd, new Date());
  return (
    <p className="muted small">
      {shortCredits(plan.creditsUsed)} of {shortCredits(plan.creditsIncluded)} this month
      {pace !== undefined && `, ${shortCredits(pace)} at this pace`}.
    </p>
  );
}
