import { useState } from "preact/hooks";
import { useLive } from "../api/hooks";
import { type Line, Log } from "../ui/log";
import { JobLogAppended } from "./job-log.gql";

interface JobLogProps {
  jobId: string;
  label: string;
  /** Called when the job has ended. */
  onEnd?: () => void;
}

/** Lines that are kept: the end of a longer log. */
const mostLines = 5_000;

/** The log of a job, while it is written. */
export function JobLog({ jobId, label, onEnd }: JobLogProps) {
  const [lines, setLines] = useState<readonly Line[]>([]);
  useLive(JobLogAppended, jobId, {
    variables: () => ({ jobId, after: lines.at(-1)?.id as string | undefined }),
    onEvent: ({ provisionerJobLogAppended: line }) => setLines((before) => [...before.slice(1 - mostLines), line]),
    ends: true,
    onEnd,
  });
  return <Log lines={lines} label={label} />;
}
