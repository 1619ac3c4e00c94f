import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText } from "./encoding";

const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

test("UTF-8 and UTF-16 are read, without their byte order marks", () => {
  assert.equal(decodeText(new TextEncoder().encode("a\nJos\u00e9")), "a\nJos\u00e9");
  assert.equal(decodeText(latin1("\u00ef\u00bb\u00bfJos\u00c3\u00a9")), "Jos\u00e9");
  assert.equal(decodeText(latin1("\u00ff\u00feJ\0\u00e9\0")), "J\u00e9");
  assert.equal(decodeText(latin1("\u00fe\u00ff\0J\0\u00e9")), "J\u00e9");
});

test("another encoding is refused with its first line", () => {
  assert.throws(() => decodeText(latin1("a\nb\nJos\u00e9\nc")), /Line 3 is not UTF-8/);
  assert.throws(() => decodeText(latin1("a\nJos\u00e9")), /Line 2 is not UTF-8/);
});

test("a workbook is refused as one, whatever its name", () => {
  assert.throws(() => decodeText(latin1("PK\u0003\u0004\u0014\0")), /This file is a workbook, not text/);
  assert.throws(() => decodeText(latin1("\u00d0\u00cf\u0011\u00e0\u00a1")), /This file is a workbook, not text/);
  assert.equal(decodeText(latin1("PK")), "PK");
});
