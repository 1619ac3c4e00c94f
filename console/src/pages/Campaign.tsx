import { useEffect, useEffectEvent, useState } from "react";
import { useSubscription } from "urql";
import { Link, useParams, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { useAction, usePage } from "../api/page";
import { Act } from "../ui/Act";
import { plural } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Failure, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { AddContacts } from "./campaign/AddContacts";
import { CampaignBar } from "./campaign/CampaignBar";
import { CampaignItem } from "./campaign/CampaignItem";

const CampaignQuery = graphql(`
  query Campaign($id: ID!, $first: Int!, $after: String, $status: CampaignItemStatus) {
    campaign(id: $id) {
      id name status maxAttempts retryDelayMinutes
      agent { id name channel }
      fields { name isMandatory isSystem }
      counts { total pending calling processingResult processed error }
      items(first: $first, after: $after, runningStatus: $status, isArchived: false) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes { id runningStatus phoneNumber attemptCount lastCallDate nextTryDate error version result { summary tag { name color } } }
      }
    }
  }
`);

const ItemUpdates = graphql(`
  subscription ItemUpdates($id: ID!, $after: Int!) {
    campaignItemUpdated(campaignId: $id, afterVersion: $after) {
      id version runningStatus phoneNumber attemptCount lastCallDate nextTryDate error result { summary tag { name color } }
    }
  }
`);

const SetStatus = graphql(`
  mutation SetCampaignStatus($input: UpdateCampaignInput!) {
    updateCampaign(input: $input) { campaign { id status } }
  }
`);

type CampaignOfPage = NonNullable<ResultOf<typeof CampaignQuery>["campaign"]>;
type Status = CampaignOfPage["status"];

const statuses = ["Pending", "Calling", "ProcessingResult", "Processed", "Error"] as const;

/** The buttons of each status, with the statuses that they lead to. */
const moves: Record<Status, { to: Status; text: string }[]> = {
  Draft: [{ to: "Running", text: "Start" }],
  Running: [{ to: "Paused", text: "Pause" }, { to: "Completed", text: "Complete" }],
  Paused: [{ to: "Running", text: "Go on" }, { to: "Completed", text: "Complete" }],
  Completed: [{ to: "Archived", text: "Archive" }],
  Archived: [],
};

/** The delay before counts are read again after items change, in milliseconds. */
const countAgain = 2_000;

/** A campaign and its contacts, live. */
export default function Campaign() {
  const { id = "" } = useParams<{ id: string }>();
  const [params] = useSearchParams();
  const status = statuses.find((s) => s === params.get("status"));
  const answer = usePage(CampaignQuery, { id, first: 50, after: params.get("after"), status });
  return (
    <Shown answer={answer} missing={`campaign ${id}`}>
      {({ campaign }) => campaign && <CampaignPage key={campaign.id} campaign={campaign} refresh={answer.refresh} />}
    </Shown>
  );
}

function CampaignPage({ campaign, refresh }: { campaign: CampaignOfPage; refresh: () => void }) {
  const [params, setParams] = useSearchParams();
  const setStatus = useAction(SetStatus);
  const [isAdding, setAdding] = useState(false);
  const items = campaign.items.nodes;
  useItemUpdates(campaign, refresh);
  const set = (name: string, value: string) =>
    setParams((old) => {
      const next = new URLSearchParams(old);
      next.delete("after");
      if (value) next.set(name, value);
      else next.delete(name);
      return next;
    });
  const open = params.get("item");
  return (
    <Page
      title={campaign.name}
      crumbs={[{ to: "/campaigns", text: "Campaigns" }]}
      facts={
        <>
          <Status of={campaign.status} />
          <Link href={`/agents/${campaign.agent.id}`}>{campaign.agent.name}</Link>
          <span>
            {plural(campaign.maxAttempts, "try", "tries")}, {spacing(campaign.retryDelayMinutes)} apart
          </span>
        </>
      }
      actions={
        <>
          {campaign.status !== "Archived" && (
            <Act scope="write" onClick={() => setAdding(true)}>
              Add contacts
            </Act>
          )}
          {moves[campaign.status].map((move) => (
            <Act
              key={move.to}
              scope="write"
              disabled={setStatus.isBusy}
              onClick={() => void setStatus.run({ input: { campaignId: campaign.id, status: move.to } })}
            >
              {move.text}
            </Act>
          ))}
        </>
      }
    >
      {setStatus.error && <Failure error={setStatus.error} />}
      <CampaignBar counts={campaign.counts} />
      <div className="row">
        <select aria-label="Status" value={params.get("status") ?? ""} onChange={(event) => set("status", event.target.value)}>
          <option value="">All contacts</option>
          {statuses.map((s) => (
            <option key={s} value={s}>
              {s === "ProcessingResult" ? "Evaluating" : s}
            </option>
          ))}
        </select>
        <span className="muted push">{plural(campaign.items.totalCount, "contact")}</span>
      </div>
      {items.length === 0 ? (
        <Empty title="No contacts here.">
          {params.has("status") ? "None has this status." : "Add them from a CSV file, with the button above."}
        </Empty>
      ) : (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Contact</th>
                <th scope="col">Status</th>
                <th scope="col" className="number wide">
                  Tries
                </th>
                <th scope="col" className="wide">
                  Last call
                </th>
                <th scope="col">Result</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={item.id}>
                  <th scope="row">
                    <button type="button" className="plain" onClick={() => set("item", item.id)}>
                      {masked(item.phoneNumber)}
                    </button>
                  </th>
                  <td>
                    <Status of={item.runningStatus} />
                  </td>
                  <td className="number wide">{item.attemptCount}</td>
                  <td className="wide">{item.lastCallDate ? <Time at={item.lastCallDate} /> : <span className="muted">not yet</span>}</td>
                  <td>
                    {item.error && <span className="note bad small">{item.error}</span>}
                    {item.result?.tag && <strong>{item.result.tag.name} </strong>}
                    <span className="muted">{item.result?.summary}</span>
                    {item.runningStatus === "Pending" && item.nextTryDate && (
                      <span className="muted">
                        next try <Time at={item.nextTryDate} />
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {campaign.items.pageInfo.hasNextPage && (
        <div>
          <button type="button" onClick={() => setParams((old) => ({ ...Object.fromEntries(old), after: campaign.items.pageInfo.endCursor ?? "" }))}>
            Next 50
          </button>
        </div>
      )}
      {isAdding && <AddContacts campaign={campaign} onClose={() => setAdding(false)} onAdded={refresh} />}
      {open && <CampaignItem campaignId={campaign.id} id={open} onClose={() => set("item", "")} />}
    </Page>
  );
}

/** Updates rows as items change, from the highest version shown, and reads the counts again when changes pause. */
function useItemUpdates(campaign: CampaignOfPage, refresh: () => void): void {
  const [after] = useState(() => Math.max(0, ...campaign.items.nodes.map((item) => item.version)));
  const [{ data }] = useSubscription({ query: ItemUpdates, variables: { id: campaign.id, after }, pause: campaign.status === "Archived" });
  const recount = useEffectEvent(refresh);
  const version = data?.campaignItemUpdated.version;
  useEffect(() => {
    if (version === undefined) return;
    const timer = setTimeout(() => recount(), countAgain);
    return () => clearTimeout(timer);
  }, [version]);
}

function spacing(minutes: number): string {
  return minutes % 60 === 0 ? plural(minutes / 60, "hour") : plural(minutes, "minute");
}

/** A number with all but its first four and last two characters hidden. Opening its row shows it. */
function masked(number: string): string {
  return number ? `${number.slice(0, 4)} •••• ${number.slice(-2)}` : "no number";
}
