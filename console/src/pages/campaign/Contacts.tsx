import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import type { ItemOfPage } from "./query";

/** The contacts of a page of a campaign. Their numbers are masked until one is opened. */
export function Contacts({ items, open }: { items: readonly ItemOfPage[]; open: (id: string) => void }) {
  return (
    <div className="card scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Contact</th>
            <th scope="col">Status</th>
            <th scope="col" className="number wide">
              Attempts
            </th>
            <th scope="col" className="wide">
              Last call
            </th>
            <th scope="col" className="wide">
              Result
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.id} data-go>
              <th scope="row">
                <button type="button" className="plain nowrap" onClick={() => open(item.id)}>
                  {masked(item.phoneNumber)}
                </button>
              </th>
              <td>
                <Status of={item.runningStatus} />
                <div className="narrow" style={{ marginTop: 4 }}>
                  <Outcome item={item} />
                </div>
              </td>
              <td className="number wide">{item.attemptCount}</td>
              <td className="wide">{item.lastCallDate ? <Time at={item.lastCallDate} /> : <span className="muted">not yet</span>}</td>
              <td className="wide">
                <Outcome item={item} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Outcome({ item }: { item: ItemOfPage }) {
  return (
    <>
      {item.error && <p className="note bad small">{item.error}</p>}
      {item.result?.tag && <strong>{item.result.tag.name} </strong>}
      <span className="muted">{item.result?.summary}</span>
      {item.runningStatus === "Pending" && item.nextTryDate && (
        <span className="muted">
          next attempt <Time at={item.nextTryDate} />
        </span>
      )}
    </>
  );
}

/** A number with all but its first four and last two characters hidden. */
function masked(number: string): string {
  return number ? `${number.slice(0, 4)} •••• ${number.slice(-2)}` : "no number";
}
