import { useSubscription } from "urql";
import { useState } from "react";
import { graphql } from "../../api/graphql";
import { paceOf, sampled, type Sample } from "../../logic/pace";
import { useRepeat } from "../../ui/useRepeat";

const CampaignUpdates = graphql(`
  subscription CampaignUpdates($id: ID!) {
    campaignUpdated(campaignId: $id) {
      id name status maxAttempts retryDelayMinutes counts { total pending calling processingResult processed error }
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

/** The delay before a list is read again after others added or removed contacts, in milliseconds. */
const readAgain = 2_000;

/** Follows a campaign and its counts. */
export function useCampaign(id: string, pause: boolean): void {
  useSubscription({ query: CampaignUpdates, variables: { id }, pause });
}

/**
 * Follows a campaign with its counts, and each contact that changes after the version that was read. The list is read again
 * while its length differs from the counts: `listed` is the length that the counts imply, undefined if they do not imply one.
 */
export function useCampaignUpdates(
  campaign: { id: string; status: string; itemVersion: number; items: { totalCount: number } },
  listed: number | undefined,
  refresh: () => void,
): void {
  const { id } = campaign;
  const [after] = useState(campaign.itemVersion);
  const pause = campaign.status === "Archived";
  useCampaign(id, pause);
  useSubscription({ query: ItemUpdates, variables: { id, after }, pause });
  useRepeat(refresh, readAgain, listed !== undefined && listed !== campaign.items.totalCount);
}

/** How often the pace is computed, in milliseconds, because it also falls without events. */
const reckonAgain = 5_000;

/** Contacts per minute in the last minutes, since the page was opened; undefined until there are enough samples. */
export function usePace(counts: { processed: number; error: number }, isRunning: boolean): number | undefined {
  const done = counts.processed + counts.error;
  const [samples, setSamples] = useState<readonly Sample[]>(() => [{ at: Date.now(), done }]);
  useRepeat(() => setSamples(sampled(samples, { at: Date.now(), done })), reckonAgain, isRunning);
  return isRunning ? paceOf(samples) : undefined;
}
