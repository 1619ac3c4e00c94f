import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { Act } from "../ui/Act";
import { Avatar } from "../ui/Avatar";
import { plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { pageAt, Pager } from "../ui/Pager";
import { Pick } from "../ui/Pick";
import { Empty, Failure, Loading } from "../ui/states";
import { Status } from "../ui/Status";
import { useNew } from "../ui/useNew";
import { CampaignBar } from "./campaign/CampaignBar";
import { useCampaign } from "./campaign/live";
import { NewCampaign } from "./campaign/NewCampaign";

const CampaignsQuery = graphql(`
  query Campaigns($first: Int, $after: String, $last: Int, $before: String, $filter: CampaignFilter) {
    campaigns(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
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
    { ...pageAt(params, 50), filter: { statuses: status ? [status] : undefined } },
    { onFocus: true, keeps: true },
  );
  const campaigns = answer.data?.campaigns;
  return (
    <Page
      title="Campaigns"
      actions={
        <Act scope="write" className="primary" onClick={() => setNew("campaign")}>
          <Icon name="plus" />
          New campaign
        </Act>
      }
    >
      <div className="toolbar">
        <Pick label="Status" shown="State" options={[["", "Any"], ...statuses.map((s) => [s, s] as const)]} value={status ?? ""} set={(value) => setParams(value ? { status: value } : {})} />
        {campaigns && <span role="status" className="muted small push">{plural(campaigns.totalCount, "campaign")}</span>}
      </div>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!campaigns && !answer.error && <Loading />}
      {campaigns?.nodes.length === 0 && !answer.isOld && (
        <Empty
          icon="campaigns"
          title={status ? `No campaign is ${status.toLowerCase()}` : "No campaigns yet"}
          action={
            status ? (
              <Link className="button" href="/campaigns">
                Show all
              </Link>
            ) : (
              <Act scope="write" onClick={() => setNew("campaign")}>
                <Icon name="plus" />
                New campaign
              </Act>
            )
          }
        >
          In a campaign, an agent calls many contacts. Create one, then add contacts from a file.
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
      <Pager of={campaigns} size={50} isOld={answer.isOld} />
      {made && <NewCampaign onClose={() => setNew()} />}
    </Page>
  );
}

function Row({ campaign }: { campaign: CampaignRow }) {
  useCampaign(campaign.id, campaign.status !== "Running");
  return (
    <tr data-go>
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
        <Link className="quiet row" href={`/agents/${campaign.agent.id}`}>
          <Avatar agent={campaign.agent} />
          {campaign.agent.name}
        </Link>
      </td>
      <td>
        <CampaignBar counts={campaign.counts} />
      </td>
    </tr>
  );
}
