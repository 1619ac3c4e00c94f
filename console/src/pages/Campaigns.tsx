import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { Act } from "../ui/Act";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { Status } from "../ui/Status";
import { useNew } from "../ui/useNew";
import { CampaignBar } from "./campaign/CampaignBar";
import { useCampaign } from "./campaign/live";
import { NewCampaign } from "./campaign/NewCampaign";

const CampaignsQuery = graphql(`
  query Campaigns($first: Int!, $after: String, $filter: CampaignFilter) {
    campaigns(first: $first, after: $after, filter: $filter) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { id name status maxAttempts agent { id name channel } counts { total pending calling processingResult processed error } }
    }
  }
`);

type CampaignRow = ResultOf<typeof CampaignsQuery>["campaigns"]["nodes"][number];

const statuses = ["Draft", "Running", "Paused", "Completed", "Archived"] as const;

/** All campaigns with their progress, which is live while they run. */
export default function Campaigns() {
  const [params, setParams] = useSearchParams();
  const [made, setNew] = useNew();
  const status = statuses.find((s) => s === params.get("status"));
  const answer = usePage(
    CampaignsQuery,
    { first: 50, after: params.get("after"), filter: { statuses: status ? [status] : undefined } },
    { onFocus: true, keeps: true },
  );
  const campaigns = answer.data?.campaigns;
  return (
    <Page
      title="Campaigns"
      actions={
        <Act scope="write" className="primary" onClick={() => setNew("campaign")}>
          New campaign
        </Act>
      }
    >
      <div className="row">
        <select aria-label="Status" value={status ?? ""} onChange={(event) => setParams(event.target.value ? { status: event.target.value } : {})}>
          <option value="">Any status</option>
          {statuses.map((s) => (
            <option key={s}>{s}</option>
          ))}
        </select>
        {campaigns && <span className="muted push">{campaigns.totalCount} total</span>}
      </div>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!campaigns && !answer.error && <Loading />}
      {campaigns?.nodes.length === 0 && !answer.isOld && (
        <Empty title={status ? `No campaign is ${status.toLowerCase()}.` : "There are no campaigns yet."}>
          {status ? <Link href="/campaigns">Show all</Link> : "In a campaign, an agent calls many contacts. Create one, then add contacts from a file."}
        </Empty>
      )}
      {campaigns && campaigns.nodes.length > 0 && (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Campaign</th>
                <th scope="col" className="wide">
                  Status
                </th>
                <th scope="col" className="wide">
                  Agent
                </th>
                <th scope="col">Contacts</th>
              </tr>
            </thead>
            <tbody>
              {campaigns.nodes.map((campaign) => (
                <Row key={campaign.id} campaign={campaign} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {campaigns?.pageInfo.hasNextPage && (
        <div>
          <button type="button" onClick={() => setParams({ ...(status && { status }), after: campaigns.pageInfo.endCursor ?? "" })}>
            Next 50
          </button>
        </div>
      )}
      {made && <NewCampaign onClose={() => setNew()} />}
    </Page>
  );
}

function Row({ campaign }: { campaign: CampaignRow }) {
  useCampaign(campaign.id, campaign.status !== "Running");
  return (
    <tr>
      <th scope="row">
        <Link href={`/campaigns/${campaign.id}`}>{campaign.name}</Link>
        <div className="narrow">
          <Status of={campaign.status} />
        </div>
      </th>
      <td className="wide">
        <Status of={campaign.status} />
      </td>
      <td className="wide">
        <Link href={`/agents/${campaign.agent.id}`}>{campaign.agent.name}</Link>
      </td>
      <td>
        <CampaignBar counts={campaign.counts} />
      </td>
    </tr>
  );
}
