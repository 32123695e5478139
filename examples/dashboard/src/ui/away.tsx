import { useEffect, useEffectEvent } from "react";
import { onServerReturned, useServerIsAway } from "../api/reachability";

/** Says that the server does not respond. What is on the page stays, and is loaded again when the server is back. */
export function AwayBanner({ onReturn }: { onReturn: () => void }) {
  const isAway = useServerIsAway();
  const onReturned = useEffectEvent(onReturn);
  useEffect(() => onServerReturned(() => onReturned()), []);
  return (
    <div className="away" role="alert">
      {isAway && <p>Steward cannot be reached. Trying to connect again…</p>}
    </div>
  );
}
