import assert from "node:assert/strict";
import { test } from "node:test";
import { hideUnchanged, promptDiff, type DiffPiece } from "./promptDiff";

const side = (pieces: DiffPiece[], left: "gone" | "new") => pieces.filter((p) => p.kind !== left).map((p) => p.text).join("");

test("the difference contains both texts", () => {
  const texts = ["", "a", "a\nb\n", "a\nc d e f\nb", "x\ny\nz", "You are Robin, of {clinicName}.\n\n# Getting here\n- Cars park behind.\n", "You are Robin of {clinicName}.\n\n# Privacy\nTalk little."];
  for (const from of texts) {
    for (const to of texts) {
      const pieces = promptDiff(from, to);
      assert.equal(side(pieces, "new").trimEnd(), from.trimEnd());
      assert.equal(side(pieces, "gone").trimEnd(), to.trimEnd());
    }
  }
});

test("a slightly changed sentence is compared word by word", () => {
  assert.deepEqual(promptDiff("Be kind and short.", "Be kind and very short."), [
    { kind: "same", text: "Be kind and " },
    { kind: "new", text: "very " },
    { kind: "same", text: "short.\n" },
  ]);
});

test("a removed paragraph is shown whole", () => {
  const pieces = promptDiff("One.\n# Getting here\n- Bus 14 stops at the door.\n", "One.\n# Privacy\nTalk only with the patient.\n");
  assert.ok(pieces.some((p) => p.kind === "gone" && p.text === "# Getting here\n- Bus 14 stops at the door.\n"));
});

test("the other sentences of a line stay as they are", () => {
  assert.deepEqual(promptDiff("1. Ask for the name. Take your time.", "1. Ask for the name. Never guess at e.g. a birthday."), [
    { kind: "same", text: "1. Ask for the name. " },
    { kind: "gone", text: "Take your time.\n" },
    { kind: "new", text: "Never guess at e.g. a birthday.\n" },
  ]);
});

test("a space at the end of a text is a change", () => {
  assert.ok(promptDiff("a b c", "a b c d").some((p) => p.kind === "new"));
});

test("unchanged lines far from a change are hidden, and none is lost", () => {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}\n`);
  const text = lines.join("");
  for (const isFirst of [true, false]) {
    for (const isLast of [true, false]) {
      const parts = hideUnchanged(text, isFirst, isLast);
      assert.equal(parts.before + parts.hidden + parts.after, text);
      assert.equal(parts.lines, 20 - (isFirst ? 0 : 3) - (isLast ? 0 : 3));
      assert.equal(parts.before, isFirst ? "" : lines.slice(0, 3).join(""));
    }
  }
  assert.equal(hideUnchanged(lines.slice(0, 11).join(""), false, false).lines, 0, "a few lines stay");
});
