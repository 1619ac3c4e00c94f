import assert from "node:assert/strict";
import { test } from "node:test";
import { uploadFault } from "./uploads";

test("an upload fails with the gateway's message, or with the status of another server", () => {
  assert.equal(uploadFault(200, '{"data": {"addDocument": {}}}'), undefined);
  assert.equal(uploadFault(200, '{"errors": [{"message": "The dataset does not exist."}]}'), "The dataset does not exist.");
  assert.equal(uploadFault(413, "<html>Request Entity Too Large</html>"), "The server refused the file, because it is too large.");
  assert.equal(uploadFault(502, ""), "The server answered with the status 502.");
});
