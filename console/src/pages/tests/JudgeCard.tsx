import { useState } from "react";
import { Link } from "wouter";
import { Figures } from "./Figures";

/** How well the judge agrees with people, read when the card is opened, and a link to label its verdicts. */
export function JudgeCard({ agentId }: { agentId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="card" aria-labelledby="judge-title">
      <header>
        <h2 id="judge-title">Judge and people</h2>
        <span className="push row">
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide agreement" : "Show agreement"}
          </button>
          <Link className="button" href={`/runs/queue?agent=${agentId}`}>
            Label verdicts
          </Link>
        </span>
      </header>
      {isOpen && <Figures agentId={agentId} />}
    </section>
  );
}
