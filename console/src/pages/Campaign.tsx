import { useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { useAction, usePage } from "../api/page";
import { Act, may } from "../ui/Act";
import { ask, type Question } from "../ui/asking";
import { attempts, count, plural } from "../ui/format";
import { Page } from "../ui/Page";
import { pageAt, Pager } from "../ui/Pager";
import { Pick } from "../ui/Pick";
import { Empty, Failure, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { AddContacts } from "./campaign/AddContacts";
import { CampaignBar } from "./campaign/CampaignBar";
import { CampaignItem } from "./campaign/CampaignItem";
import { Contacts } from "./campaign/Contacts";
import { useCampaignUpdates, usePace } from "./campaign/live";
import { CampaignQuery, type CampaignOfPage } from "./campaign/query";

const SetStatus = graphql(`
  mutation SetCampaignStatus($input: UpdateCampaignInput!) {
    updateCampaign(input: $input) { campaign { id status } }
  }
`);

/** How many contacts a page has. */
const pageSize = 50;

type CampaignStatus = CampaignOfPage["status"];

/** The states of contacts, each with the name of its count. */
const statuses = {
  Pending: "pending",
  Calling: "calling",
  ProcessingResult: "processingResult",
  Processed: "processed",
  Error: "error",
} as const;
type ItemStatus = keyof typeof statuses;

/** The buttons of each status, with the statuses that they lead to. */
const moves: Record<CampaignStatus, { to: CampaignStatus; text: string }[]> = {
  Draft: [{ to: "Running", text: "Start" }],
  Running: [{ to: "Paused", text: "Pause" }, { to: "Completed", text: "Complete" }],
  Paused: [{ to: "Running", text: "Resume" }, { to: "Completed", text: "Complete" }],
  Completed: [{ to: "Running", text: "Resume" }],
  Archived: [],
};

/** A campaign and its contacts, live. */
export default function Campaign() {
  const { id = "" } = useParams<{ id: string }>();
  const [params] = useSearchParams();
  const status = statusOf(params);
  const number = params.get("number");
  const filter = number ? { phoneNumberPrefix: number } : undefined;
  const answer = usePage(CampaignQuery, { id, ...pageAt(params, pageSize), status, filter }, { keeps: true });
  return (
    <Shown answer={answer} missing={`campaign ${id}`}>
      {({ campaign }) => campaign && <CampaignPage key={campaign.id} campaign={campaign} isOld={answer.isOld} refresh={answer.refresh} />}
    </Shown>
  );
}

function statusOf(params: URLSearchParams): ItemStatus | undefined {
  return (Object.keys(statuses) as ItemStatus[]).find((status) => status === params.get("status"));
}

function CampaignPage({ campaign, isOld, refresh }: { campaign: CampaignOfPage; isOld: boolean; refresh: () => void }) {
  const [params, setParams] = useSearchParams();
  const [isAdding, setAdding] = useState(false);
  const setStatus = useAction(SetStatus);
  /** A refused change is reported beside the current campaign. */
  const move = async (to: CampaignStatus) => {
    if (!(await setStatus.run({ input: { campaignId: campaign.id, status: to } }))) refresh();
  };
  const request = async (to: CampaignStatus) => {
    const question = questionsOf(campaign)[to];
    if (!question || (await ask(question))) await move(to);
  };
  const status = statusOf(params);
  const isFiltered = params.has("status") || params.has("number");
  const listed = params.has("number") || isOld ? undefined : campaign.counts[status ? statuses[status] : "total"];
  useCampaignUpdates(campaign, listed, refresh);
  const pace = usePace(campaign.counts, campaign.status === "Running");
  const set = (name: string, value: string, keep: boolean) =>
    setParams((old) => {
      const next = new URLSearchParams(old);
      if (!keep) {
        next.delete("after");
        next.delete("before");
      }
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
          <span>{attempts(campaign.maxAttempts, campaign.retryDelayMinutes)}</span>
        </>
      }
      actions={
        campaign.status !== "Archived" && (
          <>
            <Act scope="write" onClick={() => setAdding(true)}>
              Add contacts
            </Act>
            <Moves campaign={campaign} isBusy={setStatus.isBusy} request={(to) => void request(to)} />
            <Act scope="write" className="wide" disabled={setStatus.isBusy} onClick={() => void request("Archived")}>
              Archive
            </Act>
          </>
        )
      }
      more={
        campaign.status !== "Archived" && (
          <button type="button" className="narrow" disabled={setStatus.isBusy || !may("write")} onClick={() => void request("Archived")}>
            Archive
          </button>
        )
      }
    >
      {setStatus.error && <Failure error={setStatus.error} />}
      <CampaignBar counts={campaign.counts} pace={pace} />
      <div className="toolbar">
        <Pick
          label="Status"
          shown="State"
          options={[
            ["", `Any · ${count(campaign.counts.total)}`],
            ...Object.entries(statuses).map(([s, counted]) => [s, `${s === "ProcessingResult" ? "Evaluating" : s} · ${count(campaign.counts[counted])}`] as const),
          ]}
          value={status ?? ""}
          set={(value) => set("status", value, false)}
        />
        {may("contacts") && <NumberFilter number={params.get("number") ?? ""} filter={(number) => set("number", number, false)} />}
        <span role="status" className="muted small push">
          {!isOld && plural(campaign.items.totalCount, "contact")}
        </span>
      </div>
      {campaign.items.nodes.length === 0 && !isOld ? (
        <Empty icon="campaigns" title="No contacts">{isFiltered ? "No contacts match the filter." : "Add them from a CSV file, with the button above."}</Empty>
      ) : (
        <Contacts items={campaign.items.nodes} open={(id) => set("item", id, true)} />
      )}
      <Pager of={campaign.items} size={pageSize} isOld={isOld} />
      {isAdding && <AddContacts campaign={campaign} onClose={() => setAdding(false)} onAdded={refresh} />}
      {open && <CampaignItem key={open} campaignId={campaign.id} id={open} onClose={() => set("item", "", true)} />}
    </Page>
  );
}

/** What the page asks before it moves a campaign to a state. All except Pause need it: they change who is called. */
function questionsOf({ name, counts: { pending }, maxAttempts }: CampaignOfPage): Partial<Record<CampaignStatus, Question>> {
  const people = plural(pending, "person", "people");
  return {
    Running:
      pending > 0
        ? { title: "Start calling?", text: `${people} will be called, each up to ${plural(maxAttempts, "time")}.`, verb: "Start calling" }
        : { title: `Start ${name}?`, text: "No contacts are waiting. Contacts that you add later will be called.", verb: "Start campaign" },
    Completed: pending > 0 ? { title: `Complete ${name}?`, text: `${people} will not be called.`, verb: "Complete campaign" } : undefined,
    Archived: { title: `Archive ${name}?`, text: "An archived campaign cannot be changed.", verb: "Archive campaign" },
  };
}

/** Buttons for the campaign's next states. */
function Moves({ campaign, isBusy, request }: { campaign: CampaignOfPage; isBusy: boolean; request: (to: CampaignStatus) => void }) {
  const { total } = campaign.counts;
  return (
    <>
      {moves[campaign.status].map(({ to, text }) => (
        <Act
          key={to}
          scope="write"
          disabled={isBusy || (to === "Running" && total === 0)}
          title={to === "Running" && total === 0 ? "Add contacts before you start the campaign" : undefined}
          onClick={() => request(to)}
        >
          {text}
        </Act>
      ))}
    </>
  );
}

function NumberFilter({ number, filter }: { number: string; filter: (number: string) => void }) {
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        filter(String(new FormData(event.currentTarget).get("number")).replace(/[^+\d]/g, ""));
      }}
    >
      <input
        key={number}
        type="search"
        name="number"
        defaultValue={number}
        aria-label="Number begins with"
        placeholder="Number, from +44…"
        size={18}
        maxLength={24}
        onChange={(event) => event.target.value === "" && number && filter("")}
      />
    </form>
  );
}
