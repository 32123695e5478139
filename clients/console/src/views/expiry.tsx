// When a key ends: in some days, on a date, or never, if the deployment allows it.
import { useState } from "preact/hooks";
import { useData } from "../api/hooks";
import { type ControlProps, localTime } from "../ui/field";
import { LoadingPart } from "../ui/form";
import { dateOf } from "../ui/text";
import { TokenLifetimes } from "./expiry.gql";

const day = 86_400;

interface ExpiryProps extends ControlProps {
  /** The longest time in seconds; undefined if a key may be there forever. */
  maximum?: number;
}

function Expiry({ id, name, value, isInvalid, describedBy, maximum }: ExpiryProps) {
  const [now] = useState(() => Date.now());
  const endOf = (days: number) => new Date(now + days * day * 1000).toISOString();
  const days = [7, 30, 90, 365].filter((each) => maximum === undefined || each * day <= maximum);
  const [choice, setChoice] = useState(
    value ? "date" : maximum === undefined ? "never" : String(days.at(1) ?? days.at(0) ?? "date"),
  );
  const shared = { "aria-invalid": isInvalid ? true : undefined, "aria-describedby": describedBy };
  return (
    <div class="expiry">
      <select id={id} {...shared} value={choice} onInput={({ currentTarget }) => setChoice(currentTarget.value)}>
        {days.map((each) => (
          <option key={each} value={each}>
            {each} days ({dateOf(endOf(each))})
          </option>
        ))}
        <option value="date">On a date…</option>
        {maximum === undefined && <option value="never">Never</option>}
      </select>
      {choice === "date" ? (
        <input
          key="date"
          type="datetime-local"
          name={name}
          aria-label="Date and time"
          {...shared}
          defaultValue={value || localTime(endOf(Math.min(30, (maximum ?? Infinity) / day)))}
          min={localTime(endOf(0))}
          max={maximum === undefined ? undefined : localTime(endOf(maximum / day))}
        />
      ) : (
        <input key="preset" type="hidden" name={name} value={choice === "never" ? "" : endOf(Number(choice))} />
      )}
    </div>
  );
}

/** The end of something that may be there forever. */
export const AnyExpiry = (props: ControlProps) => <Expiry {...props} />;

/** The end of an API token, within the maximum of the deployment. */
export function TokenExpiry(props: ControlProps) {
  const lifetimes = useData(TokenLifetimes, {});
  return lifetimes.data ? (
    <Expiry {...props} maximum={lifetimes.data.serverInfo.apiTokenMaxLifetimeSeconds} />
  ) : (
    <LoadingPart of={lifetimes} text="Loading…" />
  );
}
