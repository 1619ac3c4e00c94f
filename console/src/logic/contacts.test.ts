import assert from "node:assert/strict";
import { test } from "node:test";
import { contactsOf, duplicatesByLine, faultsByLine } from "./contacts";
import { readCSV } from "./csv";

const fields = [
  { name: "firstName", isMandatory: true, isSystem: false },
  { name: "offer", isMandatory: false, isSystem: false },
  { name: "phoneNumber", isMandatory: true, isSystem: true },
];

test("columns become numbers and fields, ignoring case, and other columns are listed", () => {
  const { contacts, faults, unused } = contactsOf(readCSV("phoneNumber,FIRSTNAME,offer,shoe size\n +12025550143 ,Ada, ,42\n"), fields, true);
  assert.deepEqual(contacts, [{ line: 2, phoneNumber: "+12025550143", dataBag: { firstName: "Ada" } }]);
  assert.deepEqual([faults, unused], [[], ["shoe size"]]);
});

test("spaces and punctuation in the names of columns do not matter, unless there is a closer field", () => {
  assert.deepEqual(contactsOf(readCSV("Phone Number,First Name\n+1,Ada"), fields, true).contacts[0]?.dataBag, { firstName: "Ada" });
  const both = [...fields, { name: "first_name", isMandatory: false, isSystem: false }];
  assert.deepEqual(contactsOf(readCSV("phone,First_Name,FIRSTNAME\n+1,Ada,Bo"), both, true).contacts[0]?.dataBag, { first_name: "Ada", firstName: "Bo" });
});

test("two columns for one field are refused, and a second column of numbers is listed", () => {
  const twice = readCSV("phoneNumber,firstName,FirstName\n+1,Ada,Bo");
  assert.throws(() => contactsOf(twice, fields, true), /has the columns "firstName" and "FirstName" for one field. Rename or delete one of them/);
  assert.deepEqual(contactsOf(readCSV("phone,Phone,firstName\n+1,+2,Ada"), fields, true).unused, ["Phone"]);
  const both = [...fields, { name: "FirstName", isMandatory: false, isSystem: false }];
  assert.deepEqual(contactsOf(twice, both, true).contacts[0]?.dataBag, { firstName: "Ada", FirstName: "Bo" });
});

test("lines that lack a value are faults, and other lines are not", () => {
  const { contacts, faults } = contactsOf(readCSV("Phone number,firstName\n+1,Ada\n,Bo\n+3\n\n+4,Di,x\n"), fields, true);
  assert.deepEqual(contacts.map((contact) => contact.line), [2]);
  assert.deepEqual(faults, [
    { line: 3, text: "no phone number" },
    { line: 4, text: "no firstName" },
    { line: 6, text: "3 values, but 2 columns" },
  ]);
});

test("texts that cannot be phone numbers are faults", () => {
  const records = readCSV("phone,firstName\n2025550114,Ada\n1.2E+11,Bo\n(+44) 20 7946 0001,Cy");
  assert.deepEqual(contactsOf(records, fields, true).faults, [
    { line: 2, text: "phoneNumber must begin with + and the country code: 2025550114" },
    { line: 3, text: "phoneNumber must not have letters, as in 1.2E+11" },
  ]);
  assert.deepEqual(contactsOf(records, fields, true, "US").contacts.map(({ line }) => line), [2, 4]);
});

test("a file without numbers is accepted only for Web agents", () => {
  const records = readCSV("firstName\nAda");
  assert.equal(contactsOf(records, fields, false).contacts.length, 1);
  assert.throws(() => contactsOf(records, fields, true), /The file has no column phoneNumber. Its columns are firstName/);
});

test("the gateway's faults are shown by line", () => {
  const page = contactsOf(readCSV("phone,firstName\n+1,Ada\n+2,Bo"), fields, true).contacts;
  const given = { "items.1.phoneNumber": ["is not valid"], "items.0.dataBag.firstName": ["is too long"], campaignId: ["is unknown"] };
  assert.deepEqual(faultsByLine(given, page), [
    { line: 3, text: "phoneNumber is not valid" },
    { line: 2, text: "firstName is too long" },
  ]);
});

test("contacts that were skipped because of equal numbers are shown by line", () => {
  const page = contactsOf(readCSV("phone,firstName\n+1,Ada\n+2,Bo\n+1,Cy"), fields, true).contacts;
  const given = [
    { index: 1, firstIndex: null },
    { index: 2, firstIndex: 0 },
  ];
  assert.deepEqual(duplicatesByLine(given, page), [
    { line: 3, text: "same number as a contact who is waiting for a call" },
    { line: 4, text: "same number as line 2" },
  ]);
});
