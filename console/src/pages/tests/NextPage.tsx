/** A button that shows the next page of a list, if there is one. */
export function NextPage({ of, show }: { of: { pageInfo: { hasNextPage: boolean; endCursor: string | null } } | undefined; show: (cursor: string) => void }) {
  if (!of?.pageInfo.hasNextPage) return null;
  return (
    <div>
      <button type="button" onClick={() => show(of.pageInfo.endCursor ?? "")}>
        Next 100
      </button>
    </div>
  );
}
