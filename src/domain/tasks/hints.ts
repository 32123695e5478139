/** The hint that a task or its state changed. */
export const taskHint = (taskId: string) => ({ topic: "tasks", id: taskId }) as const;

/** The hint that the queue of inputs of a task changed. */
export const queueHint = (taskId: string) => ({ topic: "tasks", id: `q:${taskId}` }) as const;

/** The hint that a user has a new task. */
export const ownerHint = (userId: string) => ({ topic: "tasks", id: `o:${userId}` }) as const;

/** The hint that there may be inputs to deliver. */
export const inputsHint = { topic: "tasks", id: "inputs" } as const;
