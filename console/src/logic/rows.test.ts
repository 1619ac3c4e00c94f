import assert from "node:assert/strict";
import { test } from "node:test";
import { inRow, readRows } from "./rows";

test("rows are read from CSV and JSON lines", () => {
  assert.deepEqual(readRows("a.csv", "row,day\nFirst,Monday\n,Tuesday\n"), [{ name: "First", values: { day: "Monday" } }, { values: { day: "Tuesday" } }]);
  assert.deepEqual(readRows("a.jsonl", '{"row": "First", "free": [9]}\n\n{"free": []}\n'), [{ name: "First", values: { free: [9] } }, { values: { free: [] } }]);
  assert.throws(() => readRows("a.csv", "day\n"), /has no rows/);
  assert.throws(() => readRows("a.csv", "a,b\n1\n"), /Line 2/);
  assert.throws(() => readRows("a.csv", "day, day\nMonday,Tuesday\n"), /has two columns "day". Rename or delete one of them/);
  assert.throws(() => readRows("a.jsonl", "{}\n[1]\n"), /Line 2/);
  assert.throws(() => readRows("a.csv", `n\n${"1\n".repeat(501)}`), /501 rows/);
});

test("a run is called by its row", () => {
  assert.equal(inRow("Books", { rowName: "Monday", rowNumber: 1 }), "Books (Monday)");
  assert.equal(inRow("Books", { rowName: null, rowNumber: 2 }), "Books (row 2)");
  assert.equal(inRow("Books", { rowName: null, rowNumber: null }), "Books");
});
