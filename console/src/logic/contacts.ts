import type { CSVRecord } from "./csv";

export interface Contact {
  /** The line of the file where it begins. */
  line: number;
  phoneNumber: string;
  dataBag: Record<string, string>;
}

export interface LineFault {
  line: number;
  text: string;
}

export interface Contacts {
  contacts: Contact[];
  faults: LineFault[];
  /** Columns without a field of the same name. Their values are ignored. */
  unused: string[];
}

interface CampaignField {
  name: string;
  isMandatory: boolean;
  isSystem: boolean;
}

const phoneColumns = new Set(["phone", "phonenumber", "telephone", "tel", "mobile", "number"]);

/** The letters and digits of a column's name in lower case, so that "First Name" is firstName. */
const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** The maximum number of contacts in one request. */
export const pageSize = 1_000;

/**
 * Reads contacts from the records of a CSV file. The first record names the columns. A line that lacks a required number
 * or a mandatory value, or whose number cannot be valid, is a fault and gives no contact. Empty values are left out.
 * `region` completes numbers without a country code. Throws an error if numbers are required and no column has them, or if
 * two columns have the same field.
 */
export function contactsOf(records: readonly CSVRecord[], fields: readonly CampaignField[], needsNumber: boolean, region: string | null = null): Contacts {
  const columns = records[0]?.values.map((name) => name.trim()) ?? [];
  const own = fields.filter((field) => !field.isSystem);
  const likenesses = [(name: string) => name, (name: string) => name.toLowerCase(), plain];
  const fieldOf = (column: string) => {
    const alike = likenesses.find((like) => like(column) && own.some(({ name }) => like(name) === like(column)));
    return alike && own.find(({ name }) => alike(name) === alike(column));
  };
  columns.forEach((column, i) => {
    const first = fieldOf(column) && columns.findIndex((other) => fieldOf(other) === fieldOf(column));
    if (first !== undefined && first < i) throw new Error(`The file has the columns "${columns[first]}" and "${column}" for one field. Rename or delete one of them.`);
  });
  const phone = columns.findIndex((column) => !fieldOf(column) && phoneColumns.has(column.toLowerCase().replace(/[^a-z]/g, "")));
  if (needsNumber && phone < 0) throw new Error(`The file has no column phoneNumber. Its columns are ${columns.join(", ")}.`);
  const faults: LineFault[] = [];
  const contacts = records.slice(1).flatMap(({ line, values }) => {
    const dataBag: Record<string, string> = {};
    columns.forEach((column, i) => {
      const [field, value] = [fieldOf(column), values[i]?.trim()];
      if (field && value) dataBag[field.name] = value;
    });
    const phoneNumber = values[phone]?.trim() ?? "";
    const missing = fields.filter((field) => field.isMandatory && !field.isSystem && !dataBag[field.name]).map((field) => field.name);
    if (needsNumber && !phoneNumber) missing.unshift("phone number");
    const wrong = phoneNumber && numberFault(phoneNumber, region);
    if (values.length > columns.length) faults.push({ line, text: `${values.length} values, but ${columns.length} columns` });
    else if (missing.length > 0) faults.push({ line, text: `no ${missing.join(", no ")}` });
    else if (wrong) faults.push({ line, text: wrong });
    else return [{ line, phoneNumber, dataBag }];
    return [];
  });
  const unused = columns.filter((column, i) => column && i !== phone && !fieldOf(column));
  return { contacts, faults, unused };
}

/** Why a text can never be a phone number. The gateway checks all other numbers. */
function numberFault(number: string, region: string | null): string {
  if (/\p{L}/u.test(number)) return `phoneNumber must not have letters, as in ${number}`;
  if (!region && !/^[^\p{Nd}]*[+\uff0b]/u.test(number)) return `phoneNumber must begin with + and the country code: ${number}`;
  return "";
}

/** The gateway's faults of a page, such as one at "items.3.phoneNumber", by the lines of its contacts. */
export function faultsByLine(fields: Record<string, string[]>, page: readonly Contact[]): LineFault[] {
  return Object.entries(fields).flatMap(([path, faults]) => {
    const [, index, what = ""] = /^items\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const contact = index === undefined ? undefined : page[Number(index)];
    return contact ? [{ line: contact.line, text: `${what.replace(/^dataBag\./, "")} ${faults.join(", ")}`.trim() }] : [];
  });
}

interface Duplicate {
  index: number;
  firstIndex?: number | null;
}

/** The contacts of a page that were skipped because others have the same number, by their lines. */
export function duplicatesByLine(duplicates: readonly Duplicate[], page: readonly Contact[]): LineFault[] {
  return duplicates.flatMap(({ index, firstIndex }) => {
    const contact = page[index];
    const first = firstIndex == null ? undefined : page[firstIndex];
    return contact ? [{ line: contact.line, text: first ? `same number as line ${first.line}` : "same number as a contact who is waiting for a call" }] : [];
  });
}
