import assert from "node:assert/strict";
import { test } from "node:test";
import { placed } from "./labels";

const at = (x: number, y: number, text: string) => ({ x, y, text });

test("labels that would cover each other are moved down or up", () => {
  const labels = placed([at(100, 50, "Returns desk"), at(110, 50, "Parcel"), at(300, 50, "far away"), at(105, 48, "7"), at(100, 50, "")]);
  assert.deepEqual(labels.map(({ y }) => y), [50, 74, 50, 24, 50]);
});

test("no label is moved below a box", () => {
  const [, second] = placed([at(100, 50, "Returns desk"), at(110, 50, "Parcel")], [{ x: 100, y: 110 }], { width: 196, height: 66 });
  assert.equal(second?.y, 26);
});
