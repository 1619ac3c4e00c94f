import { useState } from "react";
import { Icon } from "./Icon";

export interface Order<Column extends string> {
  by: Column;
  isDown: boolean;
}

type Value = string | number;

/** Rows in the order that the user chose by the table's heads. Without `values` the order of the rows stays. */
export function useSort<Row, Column extends string>(
  rows: readonly Row[],
  first: Order<Column>,
  values: Record<Column, (row: Row) => Value> | undefined,
): { rows: readonly Row[]; order: Order<Column> | undefined; sort: (by: Column) => void } {
  const [order, setOrder] = useState(first);
  if (!values) return { rows, order: undefined, sort: () => undefined };
  const value = values[order.by];
  const sorted = rows.toSorted((a, b) => compare(value(a), value(b)) * (order.isDown ? -1 : 1));
  // The first click sorts numbers from the largest, and names from A.
  const isNumber = (by: Column) => rows[0] !== undefined && typeof values[by](rows[0]) === "number";
  const sort = (by: Column) => setOrder((old) => (old.by === by ? { by, isDown: !old.isDown } : { by, isDown: isNumber(by) }));
  return { rows: sorted, order, sort };
}

function compare(a: Value, b: Value): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
}

/** The head of a column, which sorts by it. Without an order it is only its text. */
export function SortHead<Column extends string>({ by, text, order, sort, className }: {
  by: Column;
  text: string;
  order: Order<Column> | undefined;
  sort: (by: Column) => void;
  className?: string;
}) {
  if (!order) {
    return (
      <th scope="col" className={className}>
        {text}
      </th>
    );
  }
  const isBy = order.by === by;
  return (
    <th scope="col" className={className} aria-sort={isBy ? (order.isDown ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => sort(by)}>
        {text}
        {isBy && <Icon name="down" />}
      </button>
    </th>
  );
}
