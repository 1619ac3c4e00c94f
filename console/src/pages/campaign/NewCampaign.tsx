import { useState, type FormEvent } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction, useGo, usePage } from "../../api/page";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { FindAgent } from "../../ui/FindAgent";
import { Failure, Loading } from "../../ui/states";

/** Only outbound agents can run a campaign. */
const OutboundAgents = graphql(`
  query OutboundAgents($text: String) {
    agents(first: 100, filter: { direction: Outbound, nameContains: $text }) { totalCount pageInfo { hasNextPage } nodes { id name channel } }
  }
`);

const CreateCampaign = graphql(`
  mutation CreateCampaign($input: CreateCampaignInput!) {
    createCampaign(input: $input) { campaign { id name } }
  }
`);

const shown = ["name", "agentId", "maxAttempts", "retryDelayMinutes", "defaultRegion"];

/** Creates a draft campaign and opens its page, where contacts are added. */
export function NewCampaign({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const answer = usePage(OutboundAgents, { text }, { keeps: true });
  const agents = answer.data?.agents.nodes;
  const create = useAction(CreateCampaign);
  const go = useGo();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const value = (name: string) => String(form.get(name)).trim();
    const created = await create.run({
      input: {
        name: value("name"),
        agentId: value("agentId"),
        maxAttempts: Number(value("maxAttempts")),
        retryDelayMinutes: Number(value("retryDelayMinutes")),
        defaultRegion: value("defaultRegion").toUpperCase() || undefined,
      },
    });
    if (created?.createCampaign) go(`/campaigns/${created.createCampaign.campaign.id}`);
  };
  return (
    <Dialog title="New campaign" onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!agents && !answer.error && <Loading lines={5} />}
      {agents?.length === 0 && !text && (
        <p>
          A campaign needs an outbound agent, and there is none. <Link href="/agents?new=agent">Create one</Link>, or change an agent's direction in its settings.
        </p>
      )}
      {agents && (agents.length > 0 || text) && (
        <form className="stack" onSubmit={submit}>
          <Field label="Name" path="name" error={create.error}>
            {(control) => <input {...control} required autoFocus />}
          </Field>
          <FindAgent hasMore={answer.data?.agents.pageInfo.hasNextPage} text={text} found={answer.data?.agents.totalCount} set={setText} />
          <Field label="Agent" path="agentId" error={create.error} hint="Only outbound agents run campaigns.">
            {(control) => (
              <select {...control} required>
                {agents.map((agent) => (
                  <option key={agent.id} value={agent.id}>
                    {agent.name} ({agent.channel})
                  </option>
                ))}
              </select>
            )}
          </Field>
          <div className="row top">
            <Field label="Attempts per contact" path="maxAttempts" error={create.error}>
              {(control) => <input {...control} type="number" required min={1} max={20} defaultValue={3} />}
            </Field>
            <Field label="Minutes between attempts" path="retryDelayMinutes" error={create.error}>
              {(control) => <input {...control} type="number" required min={0} max={43_200} defaultValue={60} />}
            </Field>
          </div>
          <Field label="Default country" path="defaultRegion" error={create.error} hint="Two letters, such as GB. If empty, each number needs its country code.">
            {(control) => <input {...control} size={4} maxLength={2} pattern="[A-Za-z]{2}" />}
          </Field>
          <FormFailure error={create.error} shown={shown} />
          <div className="row">
            <button type="submit" className="primary" disabled={create.isBusy}>
              Create campaign
            </button>
            <span className="muted small">It starts as a draft: nobody is called yet.</span>
          </div>
        </form>
      )}
    </Dialog>
  );
}
