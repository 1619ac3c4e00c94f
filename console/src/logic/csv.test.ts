import assert from "node:assert/strict";
import { test } from "node:test";
import { readCSV } from "./csv";

test("quoted values hold separators, quotation marks and line breaks", () => {
  const records = readCSV('a,b\r\n"x, ""y""","1\n2"\n\n,\nlast,');
  assert.deepEqual(records, [
    { line: 1, values: ["a", "b"] },
    { line: 2, values: ['x, "y"', "1\n2"] },
    { line: 6, values: ["last", ""] },
  ]);
});

test("the separator is detected, and a byte order mark is left out", () => {
  assert.deepEqual(readCSV("\uFEFFa;b\n1,5;2")[1]?.values, ["1,5", "2"]);
  assert.deepEqual(readCSV("a\tb\r1\t2\r")[1]?.values, ["1", "2"]);
  assert.deepEqual(readCSV(""), []);
});

test("a first line such as sep=; names the separator", () => {
  const records = [
    { line: 2, values: ["a,b", "c"] },
    { line: 3, values: ["1,5", "2"] },
  ];
  assert.deepEqual(readCSV("\uFEFFsep=;\r\na,b;c\r\n1,5;2"), records);
  assert.deepEqual(readCSV("SEP=|\na,b|c\n1,5|2\n"), records);
  assert.deepEqual(readCSV("sep=;"), []);
  assert.deepEqual(readCSV("sep=;x\n1")[0]?.values, ["sep=", "x"]);
  assert.throws(() => readCSV('sep=;\na\n"b'), /line 3/);
});

test("the error for an unclosed quotation mark names its line", () => {
  assert.throws(() => readCSV('a\n"b\nc'), /line 2/);
});
