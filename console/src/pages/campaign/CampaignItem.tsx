import { useEffect, useEffectEvent, useRef } from "react";
import { graphql } from "../../api/graphql";
import { useAction, useConflict, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { Failure, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { Message } from "../../ui/Transcript";

const CampaignItemQuery = graphql(`
  query CampaignItem($campaignId: ID!, $id: ID!) {
    campaignItem(campaignId: $campaignId, id: $id) {
      id version runningStatus phoneNumber dataBag attemptCount nextTryDate error claimedUntil isArchived
      eventList { type date description }
      result { summary metadata tag { name } conversation { id messages { role text intent } } }
    }
  }
`);

const ResetItem = graphql(`
  mutation ResetItem($input: ResetCampaignItemInput!) {
    resetCampaignItem(input: $input) { item { id version runningStatus attemptCount error nextTryDate result { summary } } }
  }
`);

/** One contact of a campaign: its data, its events and its conversation, read again when it changes. */
export function CampaignItem({ campaignId, id, onClose }: { campaignId: string; id: string; onClose: () => void }) {
  const answer = usePage(CampaignItemQuery, { campaignId, id });
  const reset = useAction(ResetItem);
  const item = answer.data?.campaignItem;
  useVersion(item?.version, answer.refresh);
  const isForeign = useConflict(reset.error, answer.refresh);
  const callAgain = (expectedVersion: number) => void reset.run({ input: { campaignId, itemId: id, expectedVersion } });
  return (
    <Dialog title={item?.phoneNumber || "Contact"} onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!item && !answer.error && <Loading />}
      {item && (
        <div className="stack">
          <div className="row">
            <Status of={item.runningStatus} />
            {item.result?.tag && <strong>{item.result.tag.name}</strong>}
            <Act
              scope="write"
              className="push"
              disabled={(item.runningStatus === "Pending" && item.attemptCount === 0) || item.isArchived || reset.isBusy}
              onClick={() => callAgain(item.version)}
            >
              Call again from the start
            </Act>
          </div>
          {isForeign && (
            <div className="note warn stack tight" role="alert">
              <strong>This contact has changed since you opened it. The current values are shown below.</strong>
              <div className="row">
                <button type="button" disabled={reset.isBusy} onClick={() => callAgain(item.version)}>
                  Call again anyway
                </button>
                <button type="button" onClick={reset.reset}>
                  Leave unchanged
                </button>
                <span>or review it first.</span>
              </div>
            </div>
          )}
          {reset.error && !isForeign && <Failure error={reset.error} />}
          {item.claimedUntil && (
            <p className="muted">
              Claimed by a dialer until <Time at={item.claimedUntil} />.
            </p>
          )}
          {item.error && <p className="note bad">{item.error}</p>}
          {item.result?.summary && <p>{item.result.summary}</p>}
          <dl className="facts">
            {Object.entries(item.dataBag).map(([name, value]) => (
              <div key={name} style={{ display: "contents" }}>
                <dt>{name}</dt>
                <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
              </div>
            ))}
          </dl>
          <h3>Events</h3>
          <ul className="stack tight">
            {item.eventList.map((event) => (
              <li key={`${event.date} ${event.type}`}>
                <Time at={event.date} /> {event.description}
              </li>
            ))}
            {item.eventList.length === 0 && <li className="muted">nothing yet</li>}
          </ul>
          {item.result?.conversation && (
            <>
              <h3>Conversation</h3>
              <div className="stack tight">
                {item.result.conversation.messages.map((message, i) => (
                  <Message key={i} role={message.role} name={message.role === "user" ? "contact" : "agent"}>
                    {message.text}
                    {message.intent && <span className="muted small"> ({message.intent})</span>}
                  </Message>
                ))}
              </div>
            </>
          )}
        </div>
      )}
    </Dialog>
  );
}

/** Reads the contact again when its version grows, because the list's subscription has neither its events nor its conversation. */
function useVersion(version: number | undefined, refresh: () => void): void {
  const known = useRef(version);
  const readAgain = useEffectEvent(refresh);
  useEffect(() => {
    const hasGrown = known.current !== undefined && known.current !== version;
    known.current = version;
    if (hasGrown) readAgain();
  }, [version]);
}
