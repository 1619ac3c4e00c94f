import assert from "node:assert/strict";
import { test } from "node:test";
import { delegations, liveChat, widthOf } from "./paths";

const agents = [
  { id: "a", subAgents: [{ id: "ab", technicalName: "to_b", agent: { id: "b" } }] },
  { id: "b", subAgents: [{ id: "bc", technicalName: "to_c", agent: { id: "c" } }] },
  { id: "c", subAgents: [] },
];

test("delegations are followed from the chat's agent through its sub-agents", () => {
  const calls = [
    { id: "1", kind: "Tool", technicalName: "look", delegationId: null },
    { id: "2", kind: "SubAgent", technicalName: "to_b", delegationId: null },
    { id: "3", kind: "SubAgent", technicalName: "to_c", delegationId: "2" },
    { id: "4", kind: "SubAgent", technicalName: "gone", delegationId: null },
    { id: "2", kind: "SubAgent", technicalName: "to_b", delegationId: null },
  ];
  assert.deepEqual(delegations(agents, "a", calls), [{ connection: "ab", to: "b" }, { connection: "bc", to: "c" }]);
});

test("the more a line is used, the wider it is", () => {
  assert.equal(widthOf(0, 9), 1.25);
  assert.equal(widthOf(9, 9), 4);
  assert.ok(widthOf(1, 9) < widthOf(4, 9));
});

test("the running chat is the one that is being answered, or the one with the newest message", () => {
  const now = Date.parse("2026-11-28T12:00:00Z");
  const chat = (id: string, status: string, time?: string) => ({ id, status, lastMessage: time ? { timestamp: `2026-11-28T${time}Z` } : null });
  const [old, open, newer, ended] = [chat("old", "Open", "11:58:00"), chat("open", "Open", "11:59:20"), chat("newer", "Open", "11:59:40"), chat("ended", "Ended", "11:59:59")];
  assert.equal(liveChat([old, ended, chat("empty", "Open")], now), undefined);
  assert.equal(liveChat([old, open, newer, ended], now)?.id, "newer");
  assert.equal(liveChat([newer, chat("replying", "Replying", "11:00:00")], now)?.id, "replying");
});
