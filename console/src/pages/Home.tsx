import { useState } from "react";
import { Link } from "wouter";
import { usePage } from "../api/page";
import { turned } from "../logic/news";
import { may } from "../ui/Act";
import { count, plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { useRepeat } from "../ui/useRepeat";
import styles from "./Home.module.css";
import { Credits } from "./home/Credits";
import { Fleet } from "./home/Fleet";
import { LastChats } from "./home/LastChats";
import { HomeQuery, type HomeData } from "./home/query";
import { RedTests } from "./home/RedTests";
import { RunAllTests } from "./home/RunAllTests";
import { Running } from "./home/Running";

const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** How many days the chart of credits has. */
const days = 14;

/** How many red tests show, unless more turned red since yesterday. */
const shownEarlier = 3;

/** How often the page is read again while something runs, in milliseconds. */
const pace = 3_000;

/** What happened since yesterday, and what runs now. */
export default function Home() {
  const [today] = useState(Date.now);
  const answer = usePage(
    HomeQuery,
    { from: isoDay(today - (days - 1) * 86_400_000), to: isoDay(today), seesCredits: may("consumption"), seesMessages: may("contacts") },
    { onFocus: true },
  );
  const { data } = answer;
  const isRunning = Boolean(data && (data.executions.nodes.length > 0 || data.replying.nodes.length > 0 || data.campaigns.nodes.length > 0));
  useRepeat(answer.refresh, pace, isRunning);
  return (
    <Page
      title="Home"
      actions={
        <>
          <Link className="button wide" href="/chats/new">
            <Icon name="chat" />
            New chat
          </Link>
          {data && <RunAllTests all={data.tests.totalCount} agents={data.agents.nodes} isRunning={data.executions.nodes.length > 0} onStarted={answer.refresh} />}
        </>
      }
    >
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!data && !answer.error && <Loading />}
      {data && (data.agents.totalCount === 0 ? <NoAgents /> : <Content data={data} />)}
    </Page>
  );
}

function NoAgents() {
  return (
    <Empty
      icon="agents"
      title="No agents yet"
      action={
        <Link className="button primary" href="/agents?new=agent">
          <Icon name="plus" />
          New agent
        </Link>
      }
    >
      An agent has a prompt, tools and tests. Create one here, or start <code>agentgraph dev</code> on an empty database for eight examples.
    </Empty>
  );
}

function Content({ data }: { data: HomeData }) {
  const { fresh, earlier } = turned(data.red.nodes, new Date());
  return (
    <>
      <News data={data} fresh={fresh.length} />
      <div className={styles.home}>
        <div className={styles.column}>
          <RedTests tests={[...fresh, ...earlier]} total={data.red.totalCount} most={Math.max(fresh.length, shownEarlier)} />
          <Running data={data} />
          <Fleet agents={[...data.agents.nodes, ...data.red.nodes.map(({ agent }) => agent)]} total={data.tests.totalCount} />
        </div>
        <div className={styles.column}>
          <Credits data={data} />
          <LastChats chats={data.simulationChats.nodes} />
        </div>
      </div>
    </>
  );
}

/** One sentence about the state of the tests, and the numbers behind it. */
function News({ data, fresh }: { data: HomeData; fresh: number }) {
  const [all, passed, red] = [data.tests.totalCount, data.passed.totalCount, data.red.totalCount];
  const open = data.open.totalCount;
  const never = all - passed - red - open;
  const details = [
    `${count(passed)} of ${count(all)} pass.`,
    fresh > 0 && red > fresh && `${count(red - fresh)} ${red - fresh === 1 ? "was" : "were"} red before.`,
    open > 0 && `${count(open)} ${open === 1 ? "has" : "have"} no result: the last run was canceled or is not over.`,
    never > 0 && `${count(never)} never ran.`,
  ];
  return (
    <div className={styles.news}>
      <h2>{headline(all, passed, red, fresh)}</h2>
      {all > 0 && <p className="muted">{details.filter(Boolean).join(" ")}</p>}
    </div>
  );
}

function headline(all: number, passed: number, red: number, fresh: number): string {
  if (all === 0) return "No tests yet";
  if (fresh > 0) return `${plural(fresh, "test")} turned red since yesterday`;
  if (red > 0) return `${plural(red, "red test")}, none new since yesterday`;
  return passed === all ? "Everything passes" : "Nothing is red";
}
