import assert from "node:assert/strict";
import { test } from "node:test";
import { wasSent } from "./sent";

test("a call that the endpoint answered with an error was sent", () => {
  for (const error of [
    null,
    undefined,
    "the tool answered 500 Internal Server Error: side effects are denied in this simulation, so nothing was done",
    "the tool did not answer in time",
    "the outcome of the call is not known",
  ]) {
    assert.equal(wasSent(error), true, String(error));
  }
});

test("a refused call was not sent", () => {
  for (const error of [
    "the arguments are invalid: day: is required",
    "the arguments are not a JSON object",
    'there is no tool "digg", only dig',
    "side effects are denied in this simulation, so nothing was done",
    "this tool must not be called, so nothing was done",
    "a person did not approve the call, so nothing was done: too expensive",
    "a person must approve the call, and a test has nobody to ask, so nothing was done: mock the tool",
    "the tool has no endpoint, so it cannot be called",
    "no telephony provider is configured, so the call cannot be transferred",
    "the address of the tool is not valid",
  ]) {
    assert.equal(wasSent(error), false, error);
  }
});
