import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { gatewayURL } from "../api/base";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { authorized } from "../api/session";
import { addUp, atThisPace, dayCount, month, year, type Days } from "../logic/credits";
import { weeks } from "../logic/axis";
import { Avatar } from "../ui/Avatar";
import { Channel } from "../ui/Channel";
import { percent, shortCredits, showCredits } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Meter } from "../ui/Meter";
import { Page } from "../ui/Page";
import { Segment } from "../ui/Segment";
import { Empty, Failure, Loading } from "../ui/states";
import { Status } from "../ui/Status";
import { toast } from "../ui/toasts";
import { Periods, type By } from "./consumption/Periods";
import styles from "./Consumption.module.css";

const ConsumptionQuery = graphql(`
  query Consumption($from: DateBound!, $to: DateBound!, $byDay: Boolean!) {
    company { id subscription { planName status creditsIncluded creditsUsed creditsRemaining budget periodStart periodEnd } }
    consumptionBreakdown(from: $from, to: $to) {
      totalCredits
      byChannel { channel credits }
      byMonth @skip(if: $byDay) { month credits byChannel { channel credits } }
      byDay @include(if: $byDay) { day credits byChannel { channel credits } }
      byAgent { agentId nameStatus credits agent { id name } campaigns { campaignId nameStatus credits campaign { id name } } }
    }
  }
`);

type Breakdown = ResultOf<typeof ConsumptionQuery>["consumptionBreakdown"];
type Subscription = NonNullable<ResultOf<typeof ConsumptionQuery>["company"]["subscription"]>;

const presetNames = [["This month"], ["Last month"], ["12 months"]] as const;

/** Ranges of more than this many days are shown by weeks instead of days. */
const mostDays = 60;

/** Where the company's credits went. */
export default function Consumption() {
  const [params, setParams] = useSearchParams();
  const [today] = useState(() => new Date());
  const presets: Record<string, Days> = { "This month": month(0, today), "Last month": month(1, today), "12 months": year(today) };
  const usual = year(today);
  const days = { from: params.get("from") ?? usual.from, to: params.get("to") ?? usual.to };
  const choices: By[] = dayCount(days) > mostDays ? ["month", "week"] : ["day", "week", "month"];
  const by = choices.find((each) => each === params.get("by")) ?? choices[0] ?? "month";
  const isReversed = days.from > days.to;
  const answer = usePage(ConsumptionQuery, { ...days, byDay: by !== "month" }, { keeps: true, pause: isReversed });
  // While other days load, the old sums could be mistaken for theirs.
  const breakdown = answer.isOld ? undefined : answer.data?.consumptionBreakdown;
  const subscription = answer.data?.company.subscription;
  const set = (next: Days) => setParams({ ...next });
  const setBy = (next: string) => setParams((old) => ({ ...Object.fromEntries(old), by: next }));
  const preset = Object.entries(presets).find(([, { from, to }]) => from === days.from && to === days.to)?.[0] ?? "";
  return (
    <Page title="Consumption" actions={<ExportButton days={days} disabled={isReversed} />}>
      {subscription && <Plan subscription={subscription} now={today} />}
      <div className="toolbar">
        <Segment label="Period" options={presetNames.map(([name]) => [name, name] as const)} value={preset as (typeof presetNames)[number][0]} set={(name) => set(presets[name] ?? usual)} />
        <input type="date" aria-label="From" aria-invalid={isReversed || undefined} value={days.from} max={days.to} onChange={(event) => event.target.value && set({ ...days, from: event.target.value })} />
        <input type="date" aria-label="To" aria-invalid={isReversed || undefined} value={days.to} min={days.from} onChange={(event) => event.target.value && set({ ...days, to: event.target.value })} />
        <span className="muted small">UTC days</span>
        {isReversed && (
          <span className="fault small" role="alert">
            The first day is after the last one.
          </span>
        )}
      </div>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!breakdown && !answer.error && !isReversed && <Loading />}
      {breakdown && <Parts breakdown={breakdown} by={by} choices={choices} setBy={setBy} />}
    </Page>
  );
}

const monthName = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" });
const dayName = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** The credits of the plan's month: used, expected at this pace, and left. */
function Plan({ subscription, now }: { subscription: Subscription; now: Date }) {
  const { creditsUsed: used, creditsIncluded: included, budget, periodEnd, periodStart } = subscription;
  const pace = atThisPace(used, periodStart, periodEnd, now);
  const lastDay = new Date(Date.parse(periodEnd) - 1);
  const most = Math.max(included, used, pace ?? 0);
  return (
    <section className={styles.plan} aria-label="Plan">
      <div>
        <span className="muted">
          {subscription.planName} plan, {monthName.format(new Date(periodStart))} {subscription.status !== "Active" && <Status of={subscription.status} />}
        </span>
        <span>
          <b className={styles.big}>{shortCredits(used)}</b> <span className="muted">of {shortCredits(included)} credits</span>
        </span>
      </div>
      <div>
        <Meter total={most} parts={[["plain", used], ["pale", Math.max(0, (pace ?? 0) - used)]]} />
        <span className="row muted">
          {pace !== undefined && (
            <span className={pace > included ? "fault" : undefined}>
              About <b>{shortCredits(pace)}</b> by {dayName.format(lastDay)} at this pace
            </span>
          )}
          <span>{shortCredits(subscription.creditsRemaining)} left</span>
          <span className="push">{budget === null ? "No budget" : `Budget ${shortCredits(budget)}`}</span>
        </span>
      </div>
    </section>
  );
}

function Parts({ breakdown, by, choices, setBy }: { breakdown: Breakdown; by: By; choices: readonly By[]; setBy: (by: string) => void }) {
  if (breakdown.totalCredits === 0) {
    return (
      <Empty icon="usage" title="No credits were used in this period" action={<Link className="button" href="/chats/new">New chat</Link>}>
        Conversations use credits. Choose another period above, or start a chat.
      </Empty>
    );
  }
  const days = (breakdown.byDay ?? []).map(({ day, ...period }) => ({ name: day, ...period }));
  const periods = by === "month" ? (breakdown.byMonth ?? []).map(({ month, ...period }) => ({ name: month, ...period })) : by === "week" ? weeks(days) : days;
  const isSum = addUp(breakdown.totalCredits, breakdown.byChannel, periods, breakdown.byAgent);
  return (
    <>
      {!isSum && <p className="note warn">The parts do not add up to the total of {showCredits(breakdown.totalCredits)} credits.</p>}
      <div className={styles.usage}>
        <Periods periods={periods} by={by} choices={choices} total={breakdown.totalCredits} setBy={setBy} />
        <div className="stack">
          <Agents agents={breakdown.byAgent} />
          <Channels channels={breakdown.byChannel} total={breakdown.totalCredits} />
        </div>
      </div>
    </>
  );
}

/** More agents than this are folded. */
const agentsShown = 6;

function Agents({ agents }: { agents: Breakdown["byAgent"] }) {
  const [isAll, setAll] = useState(false);
  const most = Math.max(...agents.map(({ credits }) => credits));
  const deleted = agents.filter(({ nameStatus }) => nameStatus === "Deleted").length;
  return (
    <section className={styles.share} aria-labelledby="agents-title">
      <header>
        <h2 id="agents-title">By agent</h2>
        {agents.length > agentsShown && (
          <button type="button" className="plain push" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? "Fewer" : `All ${agents.length}${deleted > 0 ? `, ${deleted} deleted` : ""}`}
          </button>
        )}
      </header>
      <ul>
        {agents.slice(0, isAll ? agents.length : agentsShown).map(({ agentId, agent, nameStatus, credits, campaigns }) => (
          <li key={agentId} data-faced>
            <Avatar agent={agent ?? { id: agentId, name: "?" }} />
            {agent ? (
              <Link className="quiet cut" href={`/agents/${agent.id}`}>
                {agent.name}
              </Link>
            ) : (
              <span className="muted cut" title={agentId}>
                {unnamed("agent", agentId, nameStatus)}
              </span>
            )}
            <span className="number" title={showCredits(credits)}>
              {shortCredits(credits)}
            </span>
            <Meter total={most} parts={[["pale", credits]]} />
            {campaigns.map((campaign) => (
              <small key={campaign.campaignId} className="muted" title={campaign.campaign ? undefined : campaign.campaignId}>
                {campaign.campaign ? <Link href={`/campaigns/${campaign.campaign.id}`}>{campaign.campaign.name}</Link> : unnamed("campaign", campaign.campaignId, campaign.nameStatus)} {shortCredits(campaign.credits)}
              </small>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What stands for the name of something that has none now: "Deleted agent …k2f9p7", or the id if the company never had it. */
function unnamed(what: string, id: string, nameStatus: string): string {
  return nameStatus === "Deleted" ? `Deleted ${what} …${id.slice(-6)}` : id;
}

function Channels({ channels, total }: { channels: Breakdown["byChannel"]; total: number }) {
  const used = channels.filter(({ credits }) => credits !== 0).toSorted((a, b) => b.credits - a.credits);
  return (
    <section className={styles.share} aria-labelledby="channels-title">
      <header>
        <h2 id="channels-title">By channel</h2>
      </header>
      <ul>
        {used.map(({ channel, credits }) => (
          <li key={channel}>
            <Channel channel={channel} />
            <span className="number" title={showCredits(credits)}>
              {shortCredits(credits)} <span className="muted small">{percent(credits / total)}</span>
            </span>
            <svg className="meter" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
              <rect data-channel={channel} width={Math.max(0, (100 * credits) / total)} height="1" />
            </svg>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Downloads the ledger. A link cannot, because the token goes into a header. */
function ExportButton({ days, disabled }: { days: Days; disabled: boolean }) {
  const save = async () => {
    const url = gatewayURL("Consumption/export");
    url.search = new URLSearchParams({ ...days, format: "csv" }).toString();
    const response = await fetch(url, { headers: authorized() }).catch(() => undefined);
    if (!response?.ok) {
      toast(response ? `The export failed (${response.status}).` : "The export failed: the server is unreachable.", { isError: true });
      return;
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = `consumption-${days.from}-${days.to}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <button type="button" title="The ledger of this period" disabled={disabled} onClick={() => void save()}>
      <Icon name="download" />
      CSV
    </button>
  );
}
