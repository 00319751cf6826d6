/** @throws Error when `work` has not settled in time; `work` goes on, but its signal tells it to give up */
export async function withTimeLimit(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const giveUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timeLimit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`Not settled within ${milliseconds} ms`);
      reject(error); // before the abort, so that this is the reason that is reported
      giveUp.abort(error);
    }, milliseconds);
  });
  try {
    await Promise.race([work(giveUp.signal), timeLimit]);
  } finally {
    clearTimeout(timer);
  }
}
