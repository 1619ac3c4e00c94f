import assert from "node:assert/strict";
import { test } from "node:test";
import { folded, technicalName, withoutOverrides } from "./names";

test("technical names have letters, digits and single underscores, and begin with a letter", () => {
  assert.equal(technicalName("Enlèvement du colis, 2 h"), "enlevement_du_colis_2_h");
  assert.equal(technicalName("24/7 desk!"), "desk");
  assert.equal(technicalName("日本"), "");
  assert.equal(technicalName("x".repeat(80)).length, 64);
});

test("names are found whatever their case, accents, width and Turkish letters", () => {
  for (const [name, text] of [["İSTANBUL Işıklar Destek", "ışıklar"], ["Işıklar", "ISIKLAR"], ["Größe", "grosse"], ["GRÖSSE", "Gro\u0308ße"], ["カスタマー", "ｶｽﾀﾏｰ"]] as const) {
    assert.ok(folded(name).includes(folded(text)), `${name}, ${text}`);
  }
});

test("bidirectional overrides are shown", () => {
  assert.equal(withoutOverrides("invoice\u202egpj.exe"), "invoice\\u202egpj.exe");
  assert.equal(withoutOverrides("מדריך (כחול)"), "מדריך (כחול)");
});
