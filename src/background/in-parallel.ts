/**
 * Does `work` for every item, at most `atOnce` at a time, and waits for all of it.
 * @throws the first error, once everything else has ended: nothing goes on behind the caller's back
 */
export async function inParallel<T>(
  atOnce: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values(); // the workers take from one iterator, so each item is taken once
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
