import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { gatewayURL } from "../api/base";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { authorized } from "../api/session";
import { addUp, atThisPace, dayCount, month, year, type Days } from "../logic/credits";
import { showCredits } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { Periods, type Period } from "./consumption/Periods";
import styles from "./Consumption.module.css";

const ConsumptionQuery = graphql(`
  query Consumption($from: DateBound!, $to: DateBound!, $byDay: Boolean!) {
    company { id subscription { planName status creditsIncluded creditsUsed creditsRemaining budget periodStart periodEnd } }
    consumptionBreakdown(from: $from, to: $to) {
      totalCredits
      byChannel { channel credits }
      byMonth @skip(if: $byDay) { month credits byChannel { channel credits } }
      byDay @include(if: $byDay) { day credits byChannel { channel credits } }
      byAgent { agentId nameStatus credits agent { id name } campaigns { campaignId credits campaign { id name } } }
    }
  }
`);

type Breakdown = ResultOf<typeof ConsumptionQuery>["consumptionBreakdown"];
type Subscription = NonNullable<ResultOf<typeof ConsumptionQuery>["company"]["subscription"]>;

/** Where the company's credits went. */
export default function Consumption() {
  const [params, setParams] = useSearchParams();
  const [today] = useState(() => new Date());
  const presets = { "This month": month(0, today), "Last month": month(1, today), "12 months": year(today) };
  const days = { from: params.get("from") ?? presets["12 months"].from, to: params.get("to") ?? presets["12 months"].to };
  const by = params.get("by") ?? (dayCount(days) <= 62 ? "day" : "month");
  const answer = usePage(ConsumptionQuery, { ...days, byDay: by === "day" }, { keeps: true });
  // Sums of other days could be mistaken for those of the chosen days.
  const breakdown = answer.isOld ? undefined : answer.data?.consumptionBreakdown;
  const subscription = answer.data?.company.subscription;
  const set = (next: Days) => setParams({ ...next });
  const setBy = (next: string) => setParams((old) => ({ ...Object.fromEntries(old), by: next }));
  return (
    <Page title="Consumption" actions={<ExportButton days={days} />}>
      {subscription && <Plan subscription={subscription} now={today} />}
      <div className="row">
        {Object.entries(presets).map(([name, preset]) => (
          <button key={name} type="button" aria-pressed={preset.from === days.from && preset.to === days.to} onClick={() => set(preset)}>
            {name}
          </button>
        ))}
        <input type="date" aria-label="From" value={days.from} max={days.to} onChange={(event) => event.target.value && set({ ...days, from: event.target.value })} />
        <input type="date" aria-label="To" value={days.to} min={days.from} onChange={(event) => event.target.value && set({ ...days, to: event.target.value })} />
        <span className="muted small">UTC days</span>
      </div>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!breakdown && !answer.error && <Loading />}
      {breakdown && (breakdown.totalCredits === 0 ? <Empty title="No usage in this period." /> : <Parts breakdown={breakdown} by={by} setBy={setBy} />)}
    </Page>
  );
}

function Plan({ subscription, now }: { subscription: Subscription; now: Date }) {
  const pace = atThisPace(subscription.creditsUsed, subscription.periodStart, subscription.periodEnd, now);
  return (
    <section className={`card ${styles.plan}`} aria-label="Plan">
      <strong>{subscription.planName}</strong>
      <Status of={subscription.status} />
      <meter min={0} max={subscription.creditsIncluded} value={subscription.creditsUsed} aria-label="Credits used" />
      <span>
        {showCredits(subscription.creditsUsed)} of {showCredits(subscription.creditsIncluded)} credits used, {showCredits(subscription.creditsRemaining)} left
        until <Time at={subscription.periodEnd} />
      </span>
      {pace !== undefined && (
        <span className={pace > subscription.creditsIncluded ? "note warn" : "muted"}>at this pace {showCredits(pace)}</span>
      )}
      <span className="muted">{subscription.budget === null ? "no budget" : `budget ${showCredits(subscription.budget)}`}</span>
    </section>
  );
}

function Parts({ breakdown, by, setBy }: { breakdown: Breakdown; by: string; setBy: (by: string) => void }) {
  if (breakdown.totalCredits === 0) {
    return (
      <Empty title="No credits were used in this period.">
        Conversations use credits. Choose another period above, or <Link href="/chats/new">start a chat</Link>.
      </Empty>
    );
  }
  const periods: Period[] = [
    ...(breakdown.byMonth ?? []).map(({ month, ...period }) => ({ name: month, ...period })),
    ...(breakdown.byDay ?? []).map(({ day, ...period }) => ({ name: day, ...period })),
  ];
  const isSum = addUp(breakdown.totalCredits, breakdown.byChannel, periods, breakdown.byAgent);
  return (
    <>
      <p>
        <strong className={styles.total}>{showCredits(breakdown.totalCredits)}</strong> credits{" "}
        <span className="muted">{isSum ? `= channels = ${by}s = agents ✓` : "(the parts do not add up to the total)"}</span>
      </p>
      <div className={styles.pair}>
        <Periods periods={periods} by={by} setBy={setBy} />
        <div className="stack">
          <Bars title="By channel" rows={breakdown.byChannel.map((c) => ({ key: c.channel, name: c.channel, credits: c.credits }))} />
          <section className="card" aria-labelledby="agents-title">
            <header>
              <h2 id="agents-title">By agent and campaign</h2>
            </header>
            <table className={styles.agents}>
              <tbody>
                {breakdown.byAgent.map((agent) => (
                  <AgentRows key={agent.agentId} agent={agent} total={breakdown.totalCredits} />
                ))}
              </tbody>
            </table>
          </section>
        </div>
      </div>
    </>
  );
}

function AgentRows({ agent, total }: { agent: Breakdown["byAgent"][number]; total: number }) {
  return (
    <>
      <tr>
        <th scope="row">{agent.agent ? <Link href={`/agents/${agent.agent.id}`}>{agent.agent.name}</Link> : `${agent.agentId} (${agent.nameStatus.toLowerCase()})`}</th>
        <td className={styles.barCell}>
          <Bar share={agent.credits / total} />
        </td>
        <td className="number">{showCredits(agent.credits)}</td>
      </tr>
      {agent.campaigns.map((campaign) => (
        <tr key={campaign.campaignId} className={styles.part}>
          <td className="muted">
            including {campaign.campaign ? <Link href={`/campaigns/${campaign.campaign.id}`}>{campaign.campaign.name}</Link> : campaign.campaignId}
          </td>
          <td />
          <td className="number muted">{showCredits(campaign.credits)}</td>
        </tr>
      ))}
    </>
  );
}

function Bars({ title, rows }: { title: string; rows: { key: string; name: string; credits: number }[] }) {
  const most = Math.max(...rows.map((row) => row.credits));
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
      </header>
      <table>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">{row.name}</th>
              <td className={styles.barCell}>
                <Bar share={row.credits / most} />
              </td>
              <td className="number">{showCredits(row.credits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Bar({ share }: { share: number }) {
  return (
    <svg className={styles.bar} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect width={100 * share} height="10" />
    </svg>
  );
}

/** Downloads the ledger. A link cannot, because the token goes into a header. */
function ExportButton({ days }: { days: Days }) {
  const [problem, setProblem] = useState("");
  const save = async () => {
    const url = gatewayURL("Consumption/export");
    url.search = new URLSearchParams({ ...days, format: "csv" }).toString();
    const response = await fetch(url, { headers: authorized() });
    if (!response.ok) {
      setProblem(`The export failed (${response.status}).`);
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = `consumption-${days.from}-${days.to}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <>
      {problem && <span className="note bad">{problem}</span>}
      <button type="button" onClick={() => void save()}>
        Export CSV
      </button>
    </>
  );
}
